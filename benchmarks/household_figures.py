"""Figures of the household simulator: steps per second, load time, memory, and the ratio to eai-eval where installed.

Both simulators run the same lines on the same graphs in the same process. eai-eval's evolving graph is measured twice:
as it is used, copying the state at every step, and in place.

A load is all from the JSON text of the graph in memory to a simulator that takes a first action: theirs is
``json.loads``, `EnvironmentGraph` and `EnvironmentState`. Ours makes the facts of a predicate when they are first asked
for, so the load with a first step, and with a first look around, stand beside it; theirs also steps once, in place.
"""

from __future__ import annotations

import copy
import gzip
import importlib.util
import json
import random
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from doubles.home_script import a_script

from planweave.bodies.home.graph import graph_from, read_graph
from planweave.bodies.home.observation import Observer
from planweave.bodies.home.simulator import HomeSimulator
from planweave.core.base.paths import config_dir
from planweave.core.symbolic.world import Action

JsonGraph = dict[str, Any]


def large_home(nodes: int = 444, seed: int = 0) -> JsonGraph:
    """The scene ``home_house`` with more things on its furniture, up to so many nodes; each close to twelve others."""
    data: JsonGraph = json.loads((config_dir() / "scenes" / "home_house.json").read_text(encoding="utf-8"))
    rng = random.Random(seed)
    by_id = {n["id"]: n for n in data["nodes"]}
    in_rooms = [e for e in data["edges"] if by_id[e["to_id"]]["category"] == "Rooms"]
    rooms = {e["from_id"]: e["to_id"] for e in in_rooms}
    rows = [e for e in data["edges"] if e["relation_type"] in ("ON", "INSIDE") and e not in in_rooms]
    placed: dict[int, list[int]] = {}
    for edge in rows:
        placed.setdefault(rooms[edge["to_id"]], []).append(edge["from_id"])
    edges = data["edges"]
    while len(data["nodes"]) < nodes:
        edge = rng.choice(rows)
        node = copy.deepcopy(by_id[edge["from_id"]])
        node["id"] = max(by_id) + 1
        data["nodes"].append(node)
        by_id[node["id"]] = node
        room, support = rooms[edge["to_id"]], edge["to_id"]
        edges.append({"from_id": node["id"], "relation_type": edge["relation_type"], "to_id": support})
        edges.append({"from_id": node["id"], "relation_type": "INSIDE", "to_id": room})
        near = {support, *rng.sample(placed[room], min(12, len(placed[room])))}
        edges += [
            {"from_id": a, "relation_type": "CLOSE", "to_id": b}
            for n in near
            for a, b in ((n, node["id"]), (node["id"], n))
        ]
        placed[room].append(node["id"])
    return data


def densest_home(data_folder: Path) -> JsonGraph | None:
    """The graph with most edges of the 342 of the Embodied Agent Interface; None where they are not there."""
    path = data_folder / "eai_virtualhome" / "init_graphs_342.jsonl.gz"
    if not path.is_file():
        return None
    with gzip.open(path, "rt") as lines:
        graphs: list[JsonGraph] = [json.loads(line)["init_graph"] for line in lines]
    return max(graphs, key=lambda g: len(g["edges"]))


def figures(data_folder: Path | None = None, repeats: int = 5) -> dict[str, Any]:
    """All figures by scene: microseconds a step, steps a second, milliseconds a load and an observation, MiB."""
    scenes = {"444 nodes": large_home()}
    densest = densest_home(data_folder) if data_folder else None
    if densest is not None:
        scenes["densest of EAI"] = densest
    return {name: _figures_of(data, repeats) for name, data in scenes.items()}


def _figures_of(data: JsonGraph, repeats: int) -> dict[str, Any]:
    lines, text, loads = a_script(data), json.dumps(data), 4 * repeats
    actions = _actions(data, lines)
    simulator = HomeSimulator(graph_from(data))

    def run() -> None:
        simulator.reset()
        for action in actions:
            simulator.execute(action)

    observer = Observer()
    observer.begin(simulator)
    run()  # compile the actions, build the indexes
    step = _best(run, repeats) / len(actions)
    result: dict[str, Any] = {
        "nodes": len(data["nodes"]),
        "edges": len(data["edges"]),
        "steps": len(actions),
        "step_us": step * 1e6,
        "steps_per_second": 1 / step,
        "load_ms": _best(lambda: HomeSimulator(read_graph(text)), loads) * 1e3,
        "load_and_first_step_ms": _best(lambda: HomeSimulator(read_graph(text)).execute(actions[0]), loads) * 1e3,
        "load_and_first_look_ms": _best(lambda: _looked(HomeSimulator(read_graph(text))), loads) * 1e3,
        "observe_ms": _best(lambda: observer.look(simulator), repeats) * 1e3,
        "memory_mib": _memory(lambda: _looked(HomeSimulator(read_graph(text)))),
    }
    if importlib.util.find_spec("virtualhome_eval") is not None:
        theirs = _theirs(text, lines, repeats)
        result["eai_eval"] = theirs
        result["ratio"] = {
            "step": theirs["step_us"] / result["step_us"],
            "step_in_place": theirs["step_in_place_us"] / result["step_us"],
            "load": theirs["load_ms"] / result["load_ms"],
            "load_and_first_step": theirs["load_and_first_step_ms"] / result["load_and_first_step_ms"],
            "memory": theirs["memory_mib"] / result["memory_mib"],
        }
    return result


def _looked(simulator: HomeSimulator) -> HomeSimulator:
    """The simulator after a first look around, and all facts made."""
    observer = Observer()
    observer.begin(simulator)
    observer.look(simulator)
    return simulator


def _actions(data: JsonGraph, lines: list[str]) -> list[Action]:
    from planweave.bodies.home.vocabulary import read_line

    simulator = HomeSimulator(graph_from(data))
    return [read_line(line, simulator.graph, simulator.vocabulary) for line in lines]


def _theirs(text: str, lines: list[str], repeats: int) -> dict[str, Any]:
    """The evolving graph of eai-eval on the same lines; those that it refuses are left out of its time."""
    from virtualhome_eval.simulation.evolving_graph.environment import EnvironmentGraph, EnvironmentState
    from virtualhome_eval.simulation.evolving_graph.execution import ScriptExecutor
    from virtualhome_eval.simulation.evolving_graph.scripts import read_script_from_list_string

    scripts = [read_script_from_list_string([line]) for line in lines]

    def load() -> Any:
        graph = EnvironmentGraph(json.loads(text))
        return graph, EnvironmentState(graph, {}, instance_selection=True)

    def run(in_place: bool) -> tuple[float, int]:
        graph, state = load()
        executor = ScriptExecutor(graph, {}, 0)
        seconds, done = 0.0, 0
        for script in scripts:
            begin = time.perf_counter()
            allowed, state = executor.execute_one_step(script, state, in_place=in_place)
            if allowed:
                seconds += time.perf_counter() - begin
                done += 1
        return seconds, done

    def load_and_step() -> None:
        graph, state = load()
        ScriptExecutor(graph, {}, 0).execute_one_step(scripts[0], state, in_place=True)

    copied = min((run(False) for _ in range(max(1, repeats // 2))), key=lambda r: r[0])
    in_place = min((run(True) for _ in range(max(1, repeats // 2))), key=lambda r: r[0])
    return {
        "step_us": copied[0] / copied[1] * 1e6,
        "step_in_place_us": in_place[0] / in_place[1] * 1e6,
        "steps_allowed": copied[1],
        "load_ms": _best(load, 4 * repeats) * 1e3,
        "load_and_first_step_ms": _best(load_and_step, 4 * repeats) * 1e3,
        "memory_mib": _memory(load),
    }


def _best(work: Callable[[], Any], repeats: int) -> float:
    """Seconds of the fastest of some runs, of either simulator: what else runs on the machine only adds to it."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def _memory(make: Callable[[], Any]) -> float:
    """MiB that a thing keeps."""
    tracemalloc.start()
    try:
        kept = make()
        size = tracemalloc.get_traced_memory()[0] / 2**20
        del kept
        return size
    finally:
        tracemalloc.stop()
