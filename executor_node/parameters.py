"""Parameters of executor_node with the default robot; with another one, those of its description."""

from planweave.bodies.arm.parameters import ROBOT_TYPE, parameters_of
from planweave.core.base.parameter import AUTOSTART
from planweave.goals import RULES
from planweave.robots import load_robot

COMMON = [ROBOT_TYPE, RULES, AUTOSTART]
"""Of any robot, in any domain."""
PARAMETERS = [*COMMON, *parameters_of(load_robot())]
