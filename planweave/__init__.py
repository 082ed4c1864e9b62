"""Planweave: verified robot actions from sentences. The public names, imported on first use.

    import planweave as pw

See docs/library.md. Nothing here imports ROS.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planweave.api import Plan as Plan
    from planweave.api import Result as Result
    from planweave.api import check as check
    from planweave.api import plan as plan
    from planweave.api import run as run
    from planweave.bodies.home.port import HomeBody as Home
    from planweave.bodies.symbolic import SymbolicBody as SymbolicBody
    from planweave.core.classical import NoPlanError as NoPlanError
    from planweave.core.domain import Domain as Domain
    from planweave.core.errors import ConfigError as ConfigError
    from planweave.core.errors import DomainError as DomainError
    from planweave.core.errors import GoalError as GoalError
    from planweave.core.errors import InvalidActionError as InvalidActionError
    from planweave.core.errors import ParseError as ParseError
    from planweave.core.errors import PddlError as PddlError
    from planweave.core.errors import PlanweaveError as PlanweaveError
    from planweave.core.errors import UnknownNameError as UnknownNameError
    from planweave.core.failure import Code as Code
    from planweave.core.ports import LookingBody as LookingBody
    from planweave.core.ports import Outcome as Outcome
    from planweave.core.problem import Problem as Problem
    from planweave.core.task import TaskState as TaskState
    from planweave.core.task import TaskStatus as TaskStatus
    from planweave.core.validation import Validation as Validation
    from planweave.core.world import Action as Action
    from planweave.core.world import Literal as Literal
    from planweave.core.world import World as World
    from planweave.methods import METHODS as METHODS

__version__ = "0.1.0"

#: name: (module, name there)
_NAMES = {
    "Action": ("core.world", "Action"),
    "Code": ("core.failure", "Code"),
    "ConfigError": ("core.errors", "ConfigError"),
    "Domain": ("core.domain", "Domain"),
    "DomainError": ("core.errors", "DomainError"),
    "GoalError": ("core.errors", "GoalError"),
    "Home": ("bodies.home.port", "HomeBody"),
    "InvalidActionError": ("core.errors", "InvalidActionError"),
    "Literal": ("core.world", "Literal"),
    "LookingBody": ("core.ports", "LookingBody"),
    "METHODS": ("methods", "METHODS"),
    "NoPlanError": ("core.classical", "NoPlanError"),
    "Outcome": ("core.ports", "Outcome"),
    "ParseError": ("core.errors", "ParseError"),
    "PddlError": ("core.errors", "PddlError"),
    "Plan": ("api", "Plan"),
    "PlanweaveError": ("core.errors", "PlanweaveError"),
    "Problem": ("core.problem", "Problem"),
    "Result": ("api", "Result"),
    "SymbolicBody": ("bodies.symbolic", "SymbolicBody"),
    "TaskState": ("core.task", "TaskState"),
    "TaskStatus": ("core.task", "TaskStatus"),
    "UnknownNameError": ("core.errors", "UnknownNameError"),
    "Validation": ("core.validation", "Validation"),
    "World": ("core.world", "World"),
    "check": ("api", "check"),
    "plan": ("api", "plan"),
    "run": ("api", "run"),
}
__all__ = [  # noqa: RUF022 - they are made by __getattr__
    "Action",
    "Code",
    "ConfigError",
    "Domain",
    "DomainError",
    "GoalError",
    "Home",
    "InvalidActionError",
    "Literal",
    "LookingBody",
    "METHODS",
    "NoPlanError",
    "Outcome",
    "ParseError",
    "PddlError",
    "Plan",
    "PlanweaveError",
    "Problem",
    "Result",
    "SymbolicBody",
    "TaskState",
    "TaskStatus",
    "UnknownNameError",
    "Validation",
    "World",
    "check",
    "plan",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'planweave' has no attribute {name!r}", name=name)
    module, there = _NAMES[name]
    value = globals()[name] = getattr(import_module(f"planweave.{module}"), there)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
