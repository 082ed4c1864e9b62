"""Tasks of the papers in a home, right plans for them, and whole runs of a method on the simulator without ROS."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planweave.bodies.home.facts import edge_literal, state_literal
from planweave.bodies.home.graph import graph_from
from planweave.bodies.home.home import SimulatedHome
from planweave.bodies.home.port import HomeBody
from planweave.bodies.home.script import read_line
from planweave.bodies.home.simulator import HomeSimulator
from planweave.core.base.errors import ParseError
from planweave.core.base.usage import Usage
from planweave.core.planning.solver import solve
from planweave.core.symbolic.world import Action, Literal
from planweave.llm.clients.base import ChatClient
from planweave.methods import METHODS
from planweave.methods.language.planner import LanguagePlanner
from planweave.methods.language.settings import PlannerSettings
from planweave.methods.running.episode import Episode
from planweave.methods.running.journal import Journal

#: ProgPrompt's ten tasks (Table II), two of BCR's (Section V.D): words, and the goal over classes
TASKS = {
    "watch tv": "switched_on(tv); sitting(); facing(tv)",
    "turn off the light": "switched_off(light_switch)",
    "brush teeth": "used(toothbrush)",
    "throw away the apple": "inside(apple, garbage_can)",
    "make toast": "toasted(bread)",
    "eat chips on the sofa": "agent_on(sofa); used(chips)",
    "put the salmon in the fridge": "inside(salmon, fridge); closed(fridge)",
    "wash the plate": "washed(plate)",
    "bring the coffee pot and the cupcake to the coffee table": (
        "on(coffee_pot, coffee_table); on(cupcake, coffee_table)"
    ),
    "microwave the salmon": "heated(salmon)",
    "make coffee": "filled(mug)",
    "slice and toast the bread": "sliced(bread); toasted(bread)",
}


@dataclass(frozen=True)
class HomeTask:
    """A task in words, where, what must hold in the end, and a plan that gets there."""

    words: str
    scene: str
    goal: tuple[Literal, ...]
    plan: tuple[Action, ...]


def paper_tasks(scene: str = "home_flat", seconds: float = 30.0) -> list[HomeTask]:
    """TASKS in one of our homes; plans by the classical planner, which sees the whole home. Raises PlanweaveError."""
    simulator = SimulatedHome(scene).simulator
    domain, world = simulator.vocabulary.domain, simulator.world()
    names = {n.class_name: n.name for n in reversed([*simulator.graph.nodes.values()])}  # the first thing of a class
    tasks = []
    for words, text in TASKS.items():
        literals = [Literal.parse(part) for part in text.split(";")]
        goal = tuple(Literal(x.predicate, tuple(names[a] for a in x.args), x.positive) for x in literals)
        tasks.append(HomeTask(words, scene, goal, tuple(solve(domain, world, goal, seconds))))
    return tasks


def data_folder() -> Path:
    """The data of others, in the folder of PLANWEAVE_TEST_DATA or beside the project."""
    return Path(os.environ.get("PLANWEAVE_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def task_sets() -> Iterator[tuple[str, list[HomeTask]]]:
    """The papers' tasks and, where their data are, EAI's, each set with its name."""
    yield "the papers' tasks in home_flat", paper_tasks()
    with tempfile.TemporaryDirectory() as folder:
        if tasks := eai_tasks(data_folder(), Path(folder)):
            yield "EAI's tasks", tasks


def eai_tasks(data: Path, folder: Path) -> list[HomeTask]:
    """One task of each name out of the 342 of the Embodied Agent Interface, with the plans that people wrote.

    Their homes are written into `folder`. Left out are tasks whose goal says nothing about the end, holds at the start,
    or is not reached by the plan. Empty where the data are not there.
    """
    data = data / "eai_virtualhome"
    if not (data / "tasks_342.json").is_file():
        return []
    rows = {t["id"]: t for t in json.loads((data / "tasks_342.json").read_text(encoding="utf-8"))}
    found: dict[str, HomeTask] = {}
    with gzip.open(data / "init_graphs_342.jsonl.gz", "rt") as lines:
        for line in lines:
            home = json.loads(line)
            row = rows[home["id"]]
            if row["task"] not in found:
                task = _eai_task(row, home["init_graph"], folder / f"{row['id']}.json")
                if task is not None:
                    found[task.words] = task
    return list(found.values())


def _eai_task(row: dict[str, Any], home: dict[str, Any], path: Path) -> HomeTask | None:
    simulator = HomeSimulator(graph_from(home, row["id"]))
    graph, vocabulary = simulator.graph, simulator.vocabulary
    goal = [state_literal(graph, vocabulary, g["id"], g["state"]) for g in row["state_goals"]]
    goal += [edge_literal(graph, e["from_id"], e["relation_type"], e["to_id"]) for e in row["edge_goals"]]
    plan = tuple(read_line(line, graph, vocabulary) for line in row["gold_plan"])
    if all(map(simulator.holds, goal)) or not all(simulator.execute(a).ok for a in plan):
        return None
    if not all(map(simulator.holds, goal)):
        return None
    path.write_text(json.dumps(home), encoding="utf-8")
    return HomeTask(row["task"], str(path), tuple(goal), plan)


@dataclass(frozen=True)
class HomeRun:
    """What a run of one method on one task took, and whether the goal held at its end."""

    usage: Usage
    met: bool
    corrections: int
    actions: int


def run_method(
    method: str, task: HomeTask, client: ChatClient, settings: PlannerSettings, **options: object
) -> HomeRun:
    """One run from the start of a scene. A reply that cannot be read ends it, as in the node."""
    body = HomeBody(task.scene)
    simulator = body.home.simulator
    planner = LanguagePlanner(client, settings)
    episode = Episode("", task.words, task.goal, simulator.vocabulary.domain, planner, body, Journal())
    try:
        METHODS[method](**options).run(episode)
    except ParseError as error:
        episode.spend(error.usage)
        episode.tell(message=str(error))
    return HomeRun(episode.usage, all(map(simulator.holds, task.goal)), episode.corrections, episode.executed)
