"""A camera on the hand looks at what the last look leaves open, before a task is not confirmed."""

from dataclasses import replace

import pytest
from doubles.approving import ended
from doubles.scripted import ScriptedPlanner, SymbolicBody, literals, plan, tabletop

from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Known
from planweave.core.workflow.ports import Look
from planweave.core.workflow.task_status import TaskState
from planweave.methods import METHODS
from planweave.tasks.task_manager import TaskManager

MUG, CUPBOARD, HOME = "look_at(mug)", "look_at(cupboard)", "return_to_base()"
DONE = ["grasp(mug)", "place_in(mug, cupboard)"]
PLACE = (0.7, -0.4, 0.05)


def shown(world, known):
    """The world where the mug is known in some way, and all else is seen."""
    place = None if known is Known.UNKNOWN else PLACE
    return replace(
        world,
        objects=tuple(
            replace(o, known=known, last_seen=1.0, position=place) if o.name == "mug" else replace(o, known=Known.SEEN)
            for o in world.objects
        ),
    )


class HiddenMug(SymbolicBody):
    """What is put in the cupboard is hidden from fixed cameras. near: how a look shows it after each `look_at`, None
    for not at all; known: how it is known else; gone: somebody took it, as is seen from near by; silent: no look from
    there is fresh.
    """

    def __init__(self, near=None, known=Known.REMEMBERED, gone=False, silent=False, off=(), faults=None):
        world = tabletop("mug: item; cupboard: fixture", "holds_things(cupboard); upright(mug)")
        super().__init__(replace(world, domain="kitchen", actions_off=frozenset(off)), faults)
        self.near, self.known, self.gone, self.silent = near or {}, known, gone, silent

    def look(self, seconds):
        last, world = self.done[-1] if self.done else "", replace(self.world, stamp=self.world.stamp + 0.1)
        seen_near = self.near.keys() & {*self.done}
        known = self.near.get(last) or (Known.REMEMBERED if seen_near else self.known)
        there = DONE[1] in self.done and known is not Known.UNKNOWN and not (seen_near and self.gone)
        facts = world.facts - set(literals("in(mug, cupboard)")) | set(literals("in(mug, cupboard)" if there else ""))
        self.world = shown(replace(world, facts=facts), known) if DONE[1] in self.done else world.all_seen()
        return Look(self.world, not (self.silent and last in self.near), "no image")


@pytest.fixture
def start():
    managers = []

    def make(body, method="", **options):
        planner = ScriptedPlanner([plan("; ".join(DONE), 3)], goal="in(mug, cupboard)")
        options = {"observation_timeout": 0.1, "fallback": "", **options}
        managers.append(TaskManager(planner, body, lambda name: METHODS[name](), **options))
        return managers[-1].submit("put the mug in the cupboard", method)

    yield make
    for manager in managers:
        manager.close()


SEEN = {MUG: Known.SEEN}


@pytest.mark.parametrize(
    ("body", "state", "moves"),
    [
        (HiddenMug(SEEN), TaskState.SUCCEEDED, [HOME, MUG]),
        (HiddenMug(), TaskState.NOT_CONFIRMED, [HOME, MUG, HOME]),
        (HiddenMug(SEEN, off=["look_at"]), TaskState.NOT_CONFIRMED, [HOME]),
        (HiddenMug(SEEN, gone=True), TaskState.FAILED, [HOME, MUG, HOME]),
        (HiddenMug(SEEN, silent=True), TaskState.NOT_CONFIRMED, [HOME, MUG, HOME]),
        (HiddenMug(SEEN, faults={MUG: [(Code.UNREACHABLE, "too far")]}), TaskState.NOT_CONFIRMED, [HOME]),
    ],
    ids=["seen", "not_seen_either", "no_such_camera", "gone", "silent", "out_of_reach"],
)
def test_what_is_hidden_at_the_end_is_looked_at_from_near_by(start, body, state, moves):
    status = ended(start(body))
    assert status.state is state and body.done == [*DONE, *moves]


def test_of_what_nobody_knows_where_it_is_the_place_is_looked_at_where_it_shall_be(start):
    body = HiddenMug({CUPBOARD: Known.SEEN}, Known.UNKNOWN)
    assert ended(start(body)).state is TaskState.SUCCEEDED and body.done[-1] == CUPBOARD


@pytest.mark.parametrize(("near", "state"), [({CUPBOARD: Known.SEEN}, "SUCCEEDED"), ({}, "FAILED")])
def test_what_a_method_cannot_go_on_with_since_it_is_lost_is_looked_for_before_the_task_fails(start, near, state):
    body = HiddenMug(near, Known.UNKNOWN)
    assert ended(start(body, "classical", fallback="classical")).state is TaskState[state]
    assert body.done == [*DONE, CUPBOARD, *([] if near else [HOME])]


@pytest.mark.parametrize(("word", "state", "last"), [(True, "SUCCEEDED", [MUG]), (False, "NOT_CONFIRMED", [])])
def test_a_person_approves_the_look_and_the_way_back_at_once(start, word, state, last):
    body = HiddenMug(SEEN)
    task, shown_before = start(body, approval_timeout=60.0), ""
    for approve, expected in ((True, DONE), (True, [HOME]), (word, [MUG, HOME])):
        while not (task.approval and task.approval.waiting and task.approval.shown.hash != shown_before):
            assert not task.ended.wait(0.01), task.status
        request = task.approval.shown
        assert [str(action) for action in request.plan] == expected
        shown_before = request.hash
        task.approval.answer(request.hash, approve)
    assert ended(task).state is TaskState[state] and body.done == [*DONE, HOME, *last]
