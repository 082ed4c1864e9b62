"""`planweave run --task`: the task's places are lent to the executor, its objects awaited, and its end checked."""

import dataclasses

import pytest
from codes import raises_code

from planweave.bench.tabletop_tasks import load_task, scene_bodies
from planweave.cli import run as tasks
from planweave.cli.run import NamedTask
from planweave.core.symbolic.world import World, WorldObject
from planweave.simulation.scene import load_scene


class PlainClient:
    """Of planweave_ros.client.Client what is needed here, with a world to be set."""

    def __init__(self, world=None):
        self.workspace, self.now, self.used = "tabletop", world, []

    def parameter(self, node, name):
        assert (node, name) == ("executor_node", "workspace")
        return self.workspace

    def set_parameter(self, node, name, value):
        self.workspace = value
        self.used.append(value)

    def world(self):
        return self.now


def world_of(name, **moved):
    """The task's scene as seen, with all places; objects in `moved` stand there instead (x, y)."""
    task = load_task(name)
    things = [
        WorldObject(b.name, "item", b.kind, position=(*moved.get(b.name, b.position[:2]), b.position[2]), size=b.size)
        for b in scene_bodies(load_scene(task.scene))
    ]
    places = {a for literal in task.goal for a in literal.args} - {t.name for t in things}
    return World("tabletop", (*things, *(WorldObject(p, "location") for p in sorted(places))))


def test_places_are_lent_and_given_back_also_after_an_error():
    client = PlainClient(world_of("plus_sign"))
    with pytest.raises(RuntimeError), NamedTask("plus_sign").prepared(client, "plus_sign"):
        assert client.workspace == "plus"
        raise RuntimeError
    assert client.workspace == "tabletop" and client.used == ["plus", "tabletop"]


def test_a_task_with_the_usual_places_leaves_them():
    client = PlainClient(world_of("banana_in_bowl"))
    with NamedTask("banana_in_bowl").prepared(client, "banana_in_bowl"):
        pass
    assert client.used == []


def test_the_end_is_checked_on_the_world_as_observed():
    client = PlainClient(world_of("banana_in_bowl"))
    task = NamedTask("banana_in_bowl")
    with task.prepared(client, "banana_in_bowl"):
        at_start = task.checked(client)
        bowl = client.now.by_name["bowl"].position
        client.now = world_of("banana_in_bowl", banana=bowl[:2])
        at_end = task.checked(client)
    assert not at_start["fulfilled"] and "banana is not in bowl" in at_start["lacking"][0]
    assert at_end == {"by": "the world as observed", "fulfilled": True, "lacking": []}
    client.now = None
    assert task.checked(client)["lacking"] == ["no world is published"]


def test_what_is_not_seen_is_named(monkeypatch):
    monkeypatch.setattr(tasks, "SEEN", 0.0)
    world = world_of("plus_sign")
    seen = tuple(o for o in world.objects if o.name not in ("red_cube", "location_c"))
    client = PlainClient(dataclasses.replace(world, objects=seen))
    with (
        raises_code("not_seen", "red_cube, location_c", "blue_cube"),
        NamedTask("plus_sign").prepared(client, "plus_sign"),
    ):
        pass
    assert client.workspace == "tabletop"


def test_an_unknown_task_names_the_nearest():
    with raises_code("unknown_name", "'letter_l'"):
        NamedTask("leter_l")
