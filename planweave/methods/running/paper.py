"""The switch `paper` of a method: parameters and conditions of its paper in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar

from planweave.core.base.parameter import option


@dataclass
class PaperMode:
    """Base of a method's dataclass. PAPER: what `paper` sets; docs/methods.md has them in a table.

    An option with another value than its default keeps it, so that a condition of the paper can be changed alone. No
    other method takes over where one with `paper` fails (`planweave.methods.running.method_run`).
    """

    PAPER: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    paper: bool = option(
        False, "as in the paper, without fallback; options that differ from their default stay", kw_only=True
    )

    def __post_init__(self) -> None:
        """Set the options of PAPER that have their defaults."""
        defaults = {each.name: each.default for each in fields(self)}
        for name, value in self.PAPER.items() if self.paper else ():
            if getattr(self, name) == defaults[name]:
                setattr(self, name, value)
