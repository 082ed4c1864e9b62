"""Parameters of virtualhome_node."""

from planweave.core.base.parameter import AUTOSTART, Parameter
from planweave.goals import RULES

PARAMETERS = [
    RULES,
    Parameter("scene", "home_flat", "home: a name under config/scenes, or the path of a VirtualHome graph (JSON)"),
    Parameter("backend", "simulator", "what plays the home", choices=("simulator", "unity")),
    Parameter(
        "observe",
        "partial",
        "observation of the home: what is visible from the room, or everything",
        choices=("partial", "full"),
    ),
    Parameter(
        "names",
        "all",
        "things whose names are known: all from the start, or those seen so far",
        choices=("all", "seen"),
    ),
    Parameter("action_timeout", 60.0, "wall seconds for one action where its goal gives no time", 0.1, 3600.0),
    Parameter("action_seconds", 0.0, "wall seconds that an action takes in the simulator, to watch it", 0.0, 60.0),
    Parameter("picture_period", 0.5, "wall seconds between looks whether a new picture is due", 0.05, 60.0),
    Parameter("unity.url", "http://127.0.0.1:8080", "where Unity listens"),
    Parameter("unity.timeout", 60.0, "wall seconds for one request to Unity that is no action", 1.0, 600.0),
    Parameter("unity.environment", 0, "number of Unity's environment", 0, 1000),
    Parameter("unity.animate", True, "show the movements; without, the graph changes at once"),
    AUTOSTART,
]
