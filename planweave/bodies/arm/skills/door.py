"""The door for skills: what carries out an action of the domain, found by name through the entry points
``planweave.skills``, ours and those of other packages alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from planweave.bodies.arm.skills.context import SkillContext
from planweave.core.base.errors import ConfigError
from planweave.core.base.plugins import Registry
from planweave.core.symbolic.world import Action


class Skill(Protocol):
    """One way of carrying out actions. Precondition, rules, limits, deadline and stop are kept around it, and whether
    the effect is there is looked at after it, whatever it says.
    """

    planned: bool
    """Whether it plans each motion before it moves, without a person or another program: then it can be previewed."""

    def can(self, context: SkillContext, action: Action) -> str:
        """Why it does not carry out an action; empty where it does."""

    def run(self, context: SkillContext, action: Action) -> None:
        """Carry out an action whose precondition holds, and leave the arm at rest. Raises SkillFailureError."""


def _wrong(make: object) -> str:
    return "" if callable(make) else "a skill is offered by what makes it: a class or function of one text"


SKILLS = Registry(
    "planweave.skills",
    "skill",
    _wrong,
    "name one of these, or install the package that offers it in this environment (entry point planweave.skills: "
    "docs/skills.md); in a clone, one of its own: make setup",
)
"""By name: called with the text after the colon of its mention (empty without one), gives a Skill."""


def make_skill(mention: str) -> Skill:
    """The skill of a mention, "NAME" or "NAME:TEXT". Raises as Registry.make."""
    name, _, text = mention.partition(":")
    skill: Skill = SKILLS.make(name, text, finish=_checked)
    return skill


def _checked(skill: Skill) -> Skill:
    missing = [part for part in ("planned", "can", "run") if not hasattr(skill, part)]
    if missing:
        raise ConfigError(f"it has no {', '.join(missing)}")
    return skill


def make_lists(mentions: Mapping[str, Iterable[str]]) -> dict[str, dict[str, Skill]]:
    """The skills of each action by their mention, in the order in which they are tried; raises as make_skill."""
    made: dict[str, Skill] = {}
    lists: dict[str, dict[str, Skill]] = {}
    for action, row in mentions.items():
        names = [name for name in row if name]
        if len(set(names)) < len(names):
            raise ConfigError(f"skills.{action}: {', '.join(names)}: each skill is tried once; name it once")
        for name in names:
            made.setdefault(name, make_skill(name))
        if names:
            lists[action] = {name: made[name] for name in names}
    return lists
