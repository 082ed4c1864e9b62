"""The worlds of test/unit/data/worlds.yaml by name, as known at the start of a task; readers of sentences in them."""

import gzip
import json
from functools import cache
from pathlib import Path

from planweave.bodies.arm import relations
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.workspace import load_workspace
from planweave.bodies.home.port import HomeBody
from planweave.core.base.errors import GoalError, ModelUnavailableError
from planweave.core.base.yaml_files import read_yaml
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal, World, WorldObject
from planweave.geometry.spatial import RELATIONS, derived
from planweave.goals import NotCoveredError, read_sentence
from planweave.libero.truth import truth
from planweave.methods.language.interpret import interpret

DATA = Path(__file__).resolve().parents[1] / "unit" / "data"


@cache
def world_of(name):
    """The domain and the world of that name."""
    content = read_yaml(DATA / "worlds.yaml")[name]
    if "home" in content:
        return Domain.load("household"), HomeBody(content["home"]).observe()
    if "libero" in content:
        kitchen = Domain.load("kitchen")
        return kitchen, truth(kitchen, libero_scenes()[content["libero"]])
    return Domain.load("tabletop"), table_of(content)


@cache
def libero_scenes():
    """What LIBERO's simulator says of the first initial state of its tasks, by task."""
    return json.loads(gzip.decompress((DATA / "libero_scenes.json.gz").read_bytes()))


def read(domain, world, sentence):
    """A sentence read with no model in reach."""
    return interpret(domain, world, sentence, _nobody)


def goal_of(domain, world, sentence):
    """The goal of a sentence by the grammar; None where it reads none."""
    try:
        return frozenset(read_sentence(domain, world, sentence).goal)
    except (GoalError, NotCoveredError):
        return None


def _nobody(*_):
    raise ModelUnavailableError("no model is asked here")


def table_of(content):
    """A world of things (name: [type, class, colour, x, y, size]) at the places of a workspace, all of which the arm
    reaches but the far edge. facts: on and in what some of them lie, whatever their positions say.
    """
    places = load_workspace(content["workspace"])
    things = [
        Thing(name, kind, class_name, (x, y, size / 2), (size, size, size), colour=colour)
        for name, (kind, class_name, colour, x, y, size) in content["things"].items()
    ]
    given = {Literal.parse(f) for f in content.get("facts", ())}
    lying = {f.args[0] for f in given}
    under = {f.args[1] for f in given if f.predicate == "on"} & {t.name for t in things if t.type == "item"}
    wrong = {"at": lying, "clear": under}
    facts = {
        fact
        for fact in relations.facts(things, places, "", True, lambda what: what.name != "far_edge")
        if not fact.args or fact.args[0] not in wrong.get(fact.predicate, ())
    }
    objects = [
        WorldObject(t.name, t.type, t.class_name, {"colour": t.colour}, t.position, (0.0, 0.0, 0.0, 1.0), t.size)
        for t in things
    ]
    everything = (*objects, *(place.in_world() for place in places))
    return World("tabletop", everything, frozenset(facts | given), frame="fr3_link0", derived=derived(RELATIONS))
