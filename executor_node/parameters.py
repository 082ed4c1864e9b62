"""Parameters of executor_node with the default robot; with another one, those of its description."""

from planweave.bodies.arm.parameters import ROBOT_TYPE, parameters_of, skill_lists
from planweave.bodies.arm.settings import SKILL_LIST
from planweave.core.base.parameter import AUTOSTART, Parameter
from planweave.goals import RULES
from planweave.robots import load_robot

COMMON = [ROBOT_TYPE, RULES, AUTOSTART]
"""Of any robot, in any domain."""
PARAMETERS = [*COMMON, *parameters_of(load_robot())]


def family(name: str) -> list[Parameter]:
    """The definition of skills.ACTION, which the node has for each action of its domain."""
    return skill_lists([name.removeprefix(SKILL_LIST)]) if name.startswith(SKILL_LIST) else []
