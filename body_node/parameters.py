"""Parameters of body_node."""

from planweave.core.base.parameter import AUTOSTART, Parameter
from planweave.goals import RULES

PARAMETERS = [
    RULES,
    Parameter("body", "home", "name in the entry points planweave.bodies; planweave doctor lists those of packages"),
    Parameter("action_timeout", 60.0, "wall seconds for one action where its goal gives no time", 0.1, 3600.0),
    AUTOSTART,
]
