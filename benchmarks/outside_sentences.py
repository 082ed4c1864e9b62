"""Instructions that others wrote, from a folder beside the project: what the reader makes of them against what was
judged by hand.

The folder has sentences.yaml (sentence, world, judged, reading), outside_worlds.yaml and libero90.json.gz, the worlds
that have what the sentences name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from doubles.named_worlds import table_of, world_of

from benchmarks.figures import Row, figure
from benchmarks.libero_sentences import Instruction, scenes_of
from benchmarks.sentence_set import Read, unrelated
from planweave.core.base.yaml_files import read_yaml
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Known, Literal, World, WorldObject
from planweave.core.workflow.reading import Reading
from planweave.libero.truth import completed, truth

_HOMES = {"home_flat": "flat", "home_house": "house", "home_studio": "studio"}
_FIRST_ID = 201  # of things added to a home


def instructions(folder: Path) -> Iterator[Instruction]:
    """The sentences of a folder in their worlds; only readings that were judged by hand have a verdict."""
    of: list[dict[str, str]] = read_yaml(folder / "sentences.yaml")
    for entry in of:
        name = f"{entry['world']}: {entry['sentence']}"
        yield Instruction(
            "outside", name, *outside_world(folder, entry["world"]), entry["sentence"], partial(_verdict, entry)
        )


def figures(folder: Path, read: Read, console: Any) -> list[Row]:
    """The figures of a folder, as rows; what was not judged by hand is printed."""
    found: Counter[Any] = Counter()
    for one in (of := list(instructions(folder))):
        row = one.read_by(read)
        found[row["verdict"]] += 1
        found["suggests", unrelated(one.domain, one.world, one.text, row["said"])] += 1
        if row["verdict"] in ("wrong", "not judged"):
            console.print(f"{row['verdict']}: {one.id!r} -> {row['said']}", markup=False)
    wrong = found["wrong"]
    total = f"of {len(of)}"
    return [
        figure("outside sentences read right", f"{found['right']} {total}", "≥ 99", found["right"] >= 99),
        figure("read as nobody has judged yet", f"{found['not judged']} {total}"),
        figure("asked, refused", f"{found['asked']}, {found['refused']} {total}"),
        figure("read wrongly", f"{wrong} {total}", "0", wrong == 0),
        suggesting(found),
    ]


def suggesting(found: Counter[Any]) -> Row:
    """The row of what refusals suggest, counted as ("suggests", `unrelated`)."""
    other, alike = found["suggests", True], found["suggests", False]
    name = "refusals with suggested sentences; with one that has neither a content word nor a thing of what was said"
    return figure(name, f"{other + alike}; {other}", "0 of the last", other == 0)


def _verdict(entry: Mapping[str, str], got: Reading) -> str:
    said = {got.answer} if got.answer else {*map(str, got.goal)}
    judged = {"right": "right", "wrong": "wrong"}.get(entry["judged"], "not judged")
    return judged if said == {*entry["reading"].split(" & ")} and not got.before else "not judged"


@cache
def _content(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = read_yaml(folder / "outside_worlds.yaml")
    return content


@cache
def outside_world(folder: Path, name: str) -> tuple[Domain, World]:
    """The world of a sentence: one of the folder's, a scene of LIBERO-90, or one of the project's own."""
    if name.startswith("libero90/"):
        kitchen = Domain.load("kitchen")
        return kitchen, truth(kitchen, scenes_of(folder)[name.split("/", 1)[1]])
    content = _content(folder).get(name)
    if content is None:
        return world_of(name)
    if "home" in content:
        return _home(content)
    if "kitchen" in content:
        return _kitchen(content)
    return Domain.load("tabletop"), table_of(content)


def _home(content: dict[str, Any]) -> tuple[Domain, World]:
    """A home with things added, each like a class that is there, and others taken away."""
    domain, world = world_of(_HOMES[content["home"]])
    objects, facts = list(world.objects), set(world.facts)
    for number, (new, like) in enumerate((content.get("add") or {}).items(), _FIRST_ID):
        model = next(o for o in world.objects if o.class_name == like.split()[0])
        name = f"{new}_{number}"
        objects.append(WorldObject(name, model.type, new, {**model.attributes, "id": str(number), "seen": "no"}))
        facts |= {replace(f, args=(name,)) for f in world.facts if f.args == (model.name,)}
        facts.add(Literal("unseen", (name,)))
    gone = {o.name for o in objects if o.class_name in (content.get("remove") or ())}
    gone |= {*(content.get("remove_names") or ())}
    kept = tuple(o for o in objects if o.name not in gone)
    return domain, replace(world, objects=kept, facts=frozenset(f for f in facts if not gone & {*f.args}))


def _kitchen(content: dict[str, Any]) -> tuple[Domain, World]:
    domain = Domain.load("kitchen")
    facts = set(map(Literal.parse, content.get("facts", ())))
    objects = []
    for name, (kind, class_name, attributes, x, y, size, properties) in content["kitchen"].items():
        place, sizes = (x, y, size / 2), (size, size, size)
        objects.append(WorldObject(name, kind, class_name, dict(attributes), place, None, sizes, Known.SEEN, 0.0))
        facts |= {Literal(p, (name,)) for p in properties}
        facts |= {Literal("bears_things", (name,))} if kind != "part" else set()
        for able, now, rest in (("can_open", "opened", "closed"), ("can_turn", "turned_on", "turned_off")):
            if able in properties and Literal(now, (name,)) not in facts:
                facts.add(Literal(rest, (name,)))
    return domain, completed(domain, objects, facts, 0.0)
