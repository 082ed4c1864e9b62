"""Parameters of web_node."""

from planweave.bodies.arm.parameters import ROBOT_TYPE
from planweave.core.base.parameter import Parameter
from planweave.page.gate import TOKEN_VARIABLE

PARAMETERS = [
    ROBOT_TYPE,
    Parameter("robot_model", "", "MJCF file of arm and hand; empty: what the robot's description says"),
    Parameter("domain", "tabletop", "domain whose example sentences are offered"),
    Parameter("host", "127.0.0.1", f"address of the page; for any but loopback a token is taken from {TOKEN_VARIABLE}"),
    Parameter("port", 8090, "its port; 0: any that is free", 0, 65535),
    Parameter("frame_rate", 20.0, "Hz at most with which the robot is moved on the page", 1.0, 60.0),
    Parameter("joint_state_topics", ["joint_states"], "topics of the robot's joint states"),
    Parameter("picture_rate", 2.0, "Hz at most of the camera's picture, while someone looks", 0.1, 30.0),
]
