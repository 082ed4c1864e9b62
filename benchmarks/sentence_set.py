"""Sentences with the readings they must have (benchmarks/sentences.yaml), and what became of them."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import yaml

from planweave.core.base.errors import GoalError
from planweave.core.base.paths import config_dir
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal, World, WorldObject
from planweave.core.workflow.reading import Reading
from planweave.geometry.spatial import RELATIONS, derived
from planweave.libero.truth import truth

SENTENCES = Path(__file__).resolve().parent / "sentences.yaml"
LIBERO = SENTENCES.parents[1] / "test" / "unit" / "data" / "libero_scenes.json.gz"
_EXCLUSIVE = {"in", "on", "at", "inside", "holding", "handed_over"}

Goal = frozenset[Literal]
Read = Callable[[Domain, World, str], Reading]


@dataclass(frozen=True)
class Sentence:
    """One sentence said in a world, with what it may be read as. answer: words of an answer, None where none is due."""

    world: str
    text: str
    goals: tuple[Goal, ...]
    may_refuse: bool
    answer: tuple[str, ...] | None

    @property
    def must_refuse(self) -> bool:
        """Whether only a clear no is right."""
        return not self.goals and self.answer is None


@dataclass(frozen=True)
class ReadVerdict:
    """What became of a sentence: "right", "refused" (where it could have been read) or "wrong"; said: the reply."""

    sentence: Sentence
    verdict: str
    said: str


def sentences(path: Path = SENTENCES) -> list[Sentence]:
    """All sentences of a file."""
    content: dict[str, dict[str, str]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [
        _sentence(world, text, expected)
        for world, of in content.items()
        if world != "worlds"
        for text, expected in of.items()
    ]


def _sentence(world: str, text: str, expected: str) -> Sentence:
    goals: list[Goal] = []
    may_refuse, answer = False, None
    for way in expected.split(" | "):
        kind, _, rest = way.strip().partition(":")
        if kind == "refused":
            may_refuse = True
        elif kind == "question":
            answer = (*(answer or ()), rest.strip())
        else:
            goals.extend(_goals(way))
    return Sentence(world, text, tuple(goals), may_refuse, answer)


def _goals(text: str) -> Iterator[Goal]:
    """All goals that a pattern stands for; those in which one thing is in two places are left out."""
    choices: list[list[list[Literal]]] = []
    for part in text.split("&"):
        match = re.fullmatch(r"\s*(not )?(\w+)\(([^()]*)\)\s*", part)
        if not match:
            raise ValueError(f"cannot read the goal {part!r} of {text!r}")
        negated, name, inside = match.groups()
        arguments = [_argument(a.strip()) for a in inside.split(",")] if inside.strip() else []
        choices.append([[Literal(name, args, not negated) for args in product(*ways)] for ways in product(*arguments)])
    for chosen in product(*choices):
        goal = [literal for literals in chosen for literal in literals]
        things = Counter(g.args[0] for g in goal if g.positive and g.predicate in _EXCLUSIVE)
        if not things or max(things.values()) == 1:
            yield frozenset(goal)


def _argument(text: str) -> list[tuple[str, ...]]:
    """The ways to fill an argument: "a+b" both, "a/b" either, "2*a/b/c" any two."""
    if "+" in text:
        return [tuple(text.split("+"))]
    number, _, names = text.rpartition("*")
    return list(combinations(names.split("/"), int(number or 1)))


def judged(sentence: Sentence, read: Read) -> ReadVerdict:
    """Have a sentence read and compare."""
    domain, world = world_of(sentence.world)
    try:
        got = read(domain, world, sentence.text)
    except GoalError as error:
        right = sentence.must_refuse or (sentence.may_refuse and not sentence.goals and sentence.answer is None)
        return ReadVerdict(sentence, "right" if right else "refused", f"refused: {error}")
    answer: str = getattr(got, "answer", "")
    if answer:
        words = sentence.answer
        right = words is not None and any(
            all(w.strip().lower() in answer.lower() for w in way.split(",")) for way in words
        )
        return ReadVerdict(sentence, "right" if right else "wrong", f"answered: {answer}")
    verdict = "right" if frozenset(got.goal) in sentence.goals else "wrong"
    return ReadVerdict(sentence, verdict, " & ".join(map(str, got.goal)))


def judged_all(read: Read, of: Sequence[Sentence] = ()) -> list[ReadVerdict]:
    """All sentences."""
    return [judged(s, read) for s in of or sentences()]


@lru_cache(maxsize=16)
def world_of(name: str) -> tuple[Domain, World]:
    """The world that sentences are said in, as it is known at the start of a task."""
    content: dict[str, Any] = yaml.safe_load(SENTENCES.read_text(encoding="utf-8"))["worlds"][name]
    if "home" in content:
        from benchmarks.home_tasks import HomeBody

        return Domain.load("household"), HomeBody(content["home"]).observe()
    if "libero" in content:
        kitchen = Domain.load("kitchen")
        return kitchen, truth(kitchen, json.loads(gzip.decompress(LIBERO.read_bytes()))[content["libero"]])
    return Domain.load("tabletop"), _table(content)


def _table(content: dict[str, Any]) -> World:
    places: dict[str, dict[str, Any]] = yaml.safe_load(
        (config_dir() / "workspaces" / f"{content['workspace']}.yaml").read_text(encoding="utf-8")
    )
    objects = [
        WorldObject(
            name, kind, class_name, {"colour": colour}, (x, y, size / 2), (0.0, 0.0, 0.0, 1.0), (size, size, size)
        )
        for name, (kind, class_name, colour, x, y, size) in content["things"].items()
    ]
    facts = {Literal.parse(f) for f in content.get("facts", ())}
    lying = {f.args[0] for f in facts if len(f.args) == 2}
    for thing in objects:
        assert thing.position is not None
        if thing.type == "item" and thing.name not in lying:
            facts |= {
                Literal("at", (thing.name, place))
                for place, of in places.items()
                if _covers(of, thing.position[0], thing.position[1])
            }
    facts |= {
        Literal("within", (one, two))
        for one, a in places.items()
        for two, b in places.items()
        if one != two and _covers(b, *a["centre"]) and a["size"][0] <= b["size"][0] and a["size"][1] <= b["size"][1]
    }
    covered = {f.args[1] for f in facts if f.predicate == "on"}
    narrow = {o.name for o in objects if o.type == "item"} | {p for p, of in places.items() if of.get("narrow")}
    for name in [o.name for o in objects] + list(places):
        if name in narrow:
            facts.add(Literal("narrow", (name,)))
        if name not in covered or name not in narrow:
            facts.add(Literal("clear", (name,)))
        if name != "far_edge":
            facts.add(Literal("reachable", (name,)))
    facts |= {Literal("hand_empty"), Literal("at_base")}
    everything = (*objects, *(WorldObject(p, "location") for p in places))
    return World("tabletop", everything, frozenset(facts), frame="fr3_link0", derived=derived(RELATIONS))


def _covers(place: dict[str, Any], x: float, y: float) -> bool:
    (cx, cy), (dx, dy) = place["centre"], place["size"]
    return bool(abs(x - cx) <= dx / 2 + 0.005 and abs(y - cy) <= dy / 2 + 0.005)
