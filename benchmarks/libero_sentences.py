"""Sentences of LIBERO and LIBERO-PRO with its goals: 200 that are kept here, and LIBERO-90's from an outside folder."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from doubles.named_worlds import libero_scenes

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal, World
from planweave.core.workflow.question import AmbiguityError
from planweave.core.workflow.reading import Reading
from planweave.libero.suites import contradictory
from planweave.libero.truth import goal_of, truth


@dataclass(frozen=True)
class Instruction:
    """One sentence of a set. verdict: of a reading, "right", "wrong" or "not judged". contradicted: the set's goal is
    not what the sentence says.
    """

    set: str
    id: str
    domain: Domain
    world: World
    text: str
    verdict: Callable[[Reading], str] = field(repr=False)
    contradicted: bool = False

    def read_by(self, read: Callable[[Domain, World, str], Reading]) -> dict[str, Any]:
        """Verdict as plain JSON values: what was said, and the verdict; "asked" and "refused" as well, and
        "contradicted" for what is not right of a sentence whose goal is not what it says.
        """
        row = self._row(read)
        return row if not self.contradicted or row["verdict"] == "right" else {**row, "verdict": "contradicted"}

    def _row(self, read: Callable[[Domain, World, str], Reading]) -> dict[str, Any]:
        try:
            got = read(self.domain, self.world, self.text)
        except AmbiguityError as error:
            return {"verdict": "asked", "said": str(error), "choices": [c.label for c in error.question.choices]}
        except GoalError as error:
            return {"verdict": "refused", "said": str(error)}
        return {
            "verdict": self.verdict(got),
            "said": got.answer or " & ".join(map(str, got.goal)),
            "before": [" & ".join(map(str, step)) for step in got.before],
            "keep": [*map(str, got.keep)],
            "source": got.source,
        }


def libero() -> Iterator[Instruction]:
    """The 200 of the four base suites and of LIBERO-PRO's variants of them."""
    return _instructions("libero", dict(libero_scenes()))


def libero_90(folder: Path) -> Iterator[Instruction]:
    """The 90 of LIBERO-90, numbered as LIBERO has them."""
    scenes = scenes_of(folder).values()
    return _instructions("libero_90", {f"libero_90/{number}": scene for number, scene in enumerate(scenes)})


@cache
def scenes_of(folder: Path) -> dict[str, Any]:
    """LIBERO-90's scenes of a folder, by name, in LIBERO's order."""
    scenes: dict[str, Any] = json.loads(gzip.decompress((folder / "libero90.json.gz").read_bytes()))
    return scenes


def _instructions(suite: str, scenes: Mapping[str, Any]) -> Iterator[Instruction]:
    kitchen = Domain.load("kitchen")
    for task, scene in scenes.items():
        world = truth(kitchen, scene)
        verdict = partial(_verdict, world, {*goal_of(scene, scene["goal"])})
        yield Instruction(suite, task, kitchen, world, scene["language"], verdict, task in contradictory())


def _verdict(world: World, goal: set[Literal], got: Reading) -> str:
    return "right" if same(world, got, goal) else "wrong"


def same(world: World, reading: Reading, theirs: set[Literal]) -> bool:
    """Whether a reading is LIBERO's goal. Its steps count as well, since the robot undoes none. LIBERO has no inside of
    bowls, so "in the bowl" is its `on`; it leaves out what holds already, that a thing put in front of another is to be
    near it, and that a drawer is open in the end in which something is.
    """
    said = {*reading.goal, *(literal for step in reading.before for literal in step)}
    ours = {Literal("on", g.args) if g.predicate == "in" and "bowl" in g.args[1] else g for g in said}
    ours -= {Literal("opened", g.args[1:]) for g in ours if g.predicate == "in"} - theirs
    return {g for g in ours if g.predicate != "near" and not world.holds(g)} == {
        g for g in theirs if not world.holds(g)
    }
