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
    from planweave.core.base.errors import ConfigError as ConfigError
    from planweave.core.base.errors import DomainError as DomainError
    from planweave.core.base.errors import GoalError as GoalError
    from planweave.core.base.errors import InvalidActionError as InvalidActionError
    from planweave.core.base.errors import ParseError as ParseError
    from planweave.core.base.errors import PddlError as PddlError
    from planweave.core.base.errors import PlanweaveError as PlanweaveError
    from planweave.core.base.errors import UnknownNameError as UnknownNameError
    from planweave.core.base.failure import Code as Code
    from planweave.core.checks.validation import Validation as Validation
    from planweave.core.planning.solver import NoPlanError as NoPlanError
    from planweave.core.symbolic.domain import Domain as Domain
    from planweave.core.symbolic.problem import Problem as Problem
    from planweave.core.symbolic.world import Action as Action
    from planweave.core.symbolic.world import Literal as Literal
    from planweave.core.symbolic.world import World as World
    from planweave.core.workflow.ports import LookingBody as LookingBody
    from planweave.core.workflow.ports import Outcome as Outcome
    from planweave.core.workflow.task_status import TaskState as TaskState
    from planweave.core.workflow.task_status import TaskStatus as TaskStatus
    from planweave.methods import METHODS as METHODS

__version__ = "0.1.0"

#: name: (module, name there)
_NAMES = {
    "Action": ("core.symbolic.world", "Action"),
    "Code": ("core.base.failure", "Code"),
    "ConfigError": ("core.base.errors", "ConfigError"),
    "Domain": ("core.symbolic.domain", "Domain"),
    "DomainError": ("core.base.errors", "DomainError"),
    "GoalError": ("core.base.errors", "GoalError"),
    "Home": ("bodies.home.port", "HomeBody"),
    "InvalidActionError": ("core.base.errors", "InvalidActionError"),
    "Literal": ("core.symbolic.world", "Literal"),
    "LookingBody": ("core.workflow.ports", "LookingBody"),
    "METHODS": ("methods", "METHODS"),
    "NoPlanError": ("core.planning.solver", "NoPlanError"),
    "Outcome": ("core.workflow.ports", "Outcome"),
    "ParseError": ("core.base.errors", "ParseError"),
    "PddlError": ("core.base.errors", "PddlError"),
    "Plan": ("api", "Plan"),
    "PlanweaveError": ("core.base.errors", "PlanweaveError"),
    "Problem": ("core.symbolic.problem", "Problem"),
    "Result": ("api", "Result"),
    "SymbolicBody": ("bodies.symbolic", "SymbolicBody"),
    "TaskState": ("core.workflow.task_status", "TaskState"),
    "TaskStatus": ("core.workflow.task_status", "TaskStatus"),
    "UnknownNameError": ("core.base.errors", "UnknownNameError"),
    "Validation": ("core.checks.validation", "Validation"),
    "World": ("core.symbolic.world", "World"),
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
