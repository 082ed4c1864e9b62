"""The simulator against the 342 tasks of the Embodied Agent Interface, and against its own simulator where installed.

The data stand beside the repository in ../shared/data/eai_virtualhome, or where PLANWEAVE_TEST_DATA says.
"""

import gzip
import importlib.util
import json
import os
import random
import re
from pathlib import Path

import pytest
from doubles.home_graphs import execute_line

from planweave.bodies.home.facts import edge_literal, state_literal
from planweave.bodies.home.graph import graph_from
from planweave.bodies.home.observation import Observer
from planweave.bodies.home.simulator import HomeSimulator
from planweave.bodies.home.vocabulary import read_line

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("PLANWEAVE_TEST_DATA", ROOT.parent / "shared" / "data")) / "eai_virtualhome"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (DATA / "tasks_342.json").is_file(), reason=f"the EAI data are not at {DATA}"),
]

#: Gold plans that cannot be executed, with the reason.
NOT_EXECUTABLE = {"688_1": '<water_glass> (1000) already grabbed when executing "[GRAB] <water_glass> (1000) [17]"'}
#: Gold plans after which a goal does not hold, with the reason.
GOAL_NOT_REACHED = {
    "430_2": "the goal has the person ON the toilet after [STANDUP]; there the edge survives it, here it does not"
}
#: Tasks without action goals whose state and edge goals hold before anything is done.
TRUE_AT_THE_START = {"339_1", "627_1", "84_1", "93_1"}


def _tasks():
    tasks = {t["id"]: t for t in json.loads((DATA / "tasks_342.json").read_text())}
    with gzip.open(DATA / "init_graphs_342.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            yield tasks[row["id"]], row["init_graph"]


def _unmet(simulator, task):
    graph, vocabulary = simulator.graph, simulator.vocabulary
    goals = [state_literal(graph, vocabulary, g["id"], g["state"]) for g in task["state_goals"]]
    goals += [edge_literal(graph, e["from_id"], e["relation_type"], e["to_id"]) for e in task["edge_goals"]]
    return [g for g in goals if not simulator.holds(g)]


@pytest.fixture(scope="module")
def pass_over_the_data():
    """One pass: for each task the first failure, goals unmet before and after, and whether the action goals came in
    order; and the home with most edges."""
    found, densest = {}, {"edges": []}
    for task, data in _tasks():
        densest = max(densest, data, key=lambda d: len(d["edges"]))
        simulator = HomeSimulator(graph_from(data, task["id"]))
        actions = [read_line(line, simulator.graph, simulator.vocabulary) for line in task["gold_plan"]]
        before = _unmet(simulator, task)
        failure = next((s.message for s in map(simulator.execute, actions) if not s.ok), "")
        names = iter(a.name for a in actions)
        goals = [set(goal.lower().split("|")) for goal in task["action_goals_ordered"]]  # alternatives
        ordered = all(any(name in goal for name in names) for goal in goals)  # each after the one before
        found[task["id"]] = failure, before, _unmet(simulator, task), ordered
    return found, densest


@pytest.fixture(scope="module")
def outcomes(pass_over_the_data):
    """What came of each task."""
    return pass_over_the_data[0]


def test_all_gold_plans_execute_but_those_listed(outcomes):
    assert len(outcomes) == 342
    assert {i: failure for i, (failure, *_) in outcomes.items() if failure} == NOT_EXECUTABLE


def test_goals_hold_at_the_end_but_those_listed(outcomes):
    missed = {i for i, (failure, _, unmet, ordered) in outcomes.items() if not failure and (unmet or not ordered)}
    assert missed == set(GOAL_NOT_REACHED)


def test_which_goals_hold_at_the_start(outcomes):
    actions = {t["id"]: t["action_goals_ordered"] for t in json.loads((DATA / "tasks_342.json").read_text())}
    assert {i for i, (_, before, *_) in outcomes.items() if not before and not actions[i]} == TRUE_AT_THE_START


def test_the_densest_home_is_observed_and_well_typed(pass_over_the_data):
    simulator = HomeSimulator(graph_from(pass_over_the_data[1]))
    observer = Observer()
    observer.begin(simulator)
    world = observer.look(simulator)
    for fact in world.facts:
        simulator.vocabulary.domain.check_literal(fact, world)
    assert 150 < len(world.objects) < len(simulator.graph.nodes)


# ---- against the evolving graph of eai-eval

#: (action, our message) where the two differ on purpose; see docs/household.md.
DELIBERATE = {
    ("PUTBACK", "can not be put on or in itself"),
    ("PUTIN", "can not be put on or in itself"),
    ("PUTIN", "is not a container"),
    ("PLUGOUT", "is still on"),
    ("PUTBACK", "is on"),
    ("PUTBACK", "is inside"),
    ("PUTIN", "is on"),
    ("PUTIN", "is inside"),
    ("WALK", "is lying"),
}
BODY_PARTS = {"face", "teeth", "hair", "hands_both"}  # always close here; there only after a walk to something


@pytest.mark.skipif(importlib.util.find_spec("virtualhome_eval") is None, reason="eai-eval is not installed")
def test_decisions_are_those_of_the_evolving_graph():
    """Gold plans with steps taken out and random actions put in: both allow and refuse the same, but what is listed."""
    from virtualhome_eval.simulation.evolving_graph.environment import EnvironmentGraph, EnvironmentState
    from virtualhome_eval.simulation.evolving_graph.execution import ScriptExecutor
    from virtualhome_eval.simulation.evolving_graph.scripts import read_script_from_list_string

    rng = random.Random(3)
    single = re.findall(
        r"\w+",
        """GRAB OPEN CLOSE SWITCHON SWITCHOFF SIT LIE TOUCH LOOKAT DRINK EAT READ WASH WIPE PUSH
        PULL PLUGIN PLUGOUT WATCH TYPE PUTON PUTOFF DROP SQUEEZE CUT FIND WALK PUTOBJBACK GREET""",
    )
    compared = 0
    for task, data in rng.sample(list(_tasks()), 40):
        plan = list(task["gold_plan"])
        things = re.findall(r"<[^>]+> \(\d+\)", " ".join(plan))
        for _ in range(min(2, len(plan) - 1)):
            plan.pop(rng.randrange(len(plan)))
        for _ in range(3 if things else 0):
            plan.insert(rng.randrange(len(plan) + 1), f"[{rng.choice(single)}] {rng.choice(things)}")
        if things:
            two = f"[{rng.choice(['PUTBACK', 'PUTIN', 'POUR'])}] {rng.choice(things)} {rng.choice(things)}"
            plan.insert(rng.randrange(len(plan) + 1), two)
        theirs_graph = EnvironmentGraph(data)
        theirs, ours = EnvironmentState(theirs_graph, {}, instance_selection=True), HomeSimulator(graph_from(data))
        for line in plan:
            executor = ScriptExecutor(theirs_graph, {}, 0)
            allowed, theirs = executor.execute_one_step(read_script_from_list_string([line]), theirs)
            step = execute_line(ours, line)
            compared += 1
            if step.ok != allowed:
                word = line.partition("]")[0][1:]
                known = any(word == w and m in step.message for w, m in DELIBERATE)
                assert known or any(f"<{part}>" in line for part in BODY_PARTS), (task["id"], line, step.message)
                break
    assert compared > 200
