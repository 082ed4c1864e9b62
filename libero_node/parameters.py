"""Parameters of libero_node."""

from planweave.core.base.parameter import AUTOSTART, Parameter
from planweave.goals import RULES
from planweave.libero.bodies import TRUTH

PARAMETERS = [
    Parameter("scene", "libero_goal/0/0", "task of LIBERO: suite/task/initial state"),
    Parameter(
        "view",
        TRUTH,
        "truth: the simulator's own poses; camera: pictures, named by the model in PLANWEAVE_VISION_MODEL",
    ),
    Parameter("action_timeout", 300.0, "wall seconds for one action where its goal gives no time", 0.1, 3600.0),
    Parameter("camera", "agentview", "camera of LIBERO whose pictures are published"),
    Parameter("width", 320, "pixels of a picture", 16, 1280),
    Parameter("height", 240, "pixels of a picture", 16, 960),
    Parameter(
        "picture_period", 1.0, "wall seconds between pictures, which are made only while someone listens", 0.1, 60
    ),
    Parameter("joint_state_rate", 10.0, "Hz of wall time", 0.5, 50.0),
    RULES,
    AUTOSTART,
]
