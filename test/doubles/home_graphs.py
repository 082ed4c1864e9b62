"""VirtualHome graphs of facts and of simulated homes, and their JSON form: what the program itself only reads."""

import msgspec

from planweave.bodies.home.facts import TO_PERSON, TO_THINGS, HomeFacts
from planweave.bodies.home.graph import ROOMS, Graph, Link
from planweave.bodies.home.script import read_line
from planweave.bodies.home.simulator import StepResult
from planweave.core.base.errors import PlanweaveError, UnknownNameError
from planweave.core.base.failure import Code


def execute_line(simulator, line):
    """Try the action of a line of a script."""
    try:
        action = read_line(line, simulator.graph, simulator.vocabulary)
    except PlanweaveError as error:
        simulator.steps += 1
        unknown = isinstance(error, UnknownNameError) and error.kind != "action"
        return StepResult(Code.UNKNOWN_OBJECT if unknown else Code.INVALID_ACTION, str(error))
    return simulator.execute(action)


def graph_now(simulator):
    """The graph of a simulated home as it is."""
    return graph_of_facts(simulator.graph, simulator.vocabulary, simulator.state.facts)


def graph_dict(graph):
    """The graph in VirtualHome's JSON form, in a fixed order."""
    nodes = []
    for node in graph.nodes.values():
        row = {
            "id": node.id,
            "class_name": node.class_name,
            "category": node.category,
            "properties": sorted(node.properties),
            "states": list(node.states),
            **node.extra,
        }
        for key in ("prefab_name", "obj_transform"):
            if getattr(node, key) is not msgspec.UNSET:
                row[key] = getattr(node, key)
        if node.bounding_box is not None:
            row["bounding_box"] = {k: list(v) for k, v in msgspec.structs.asdict(node.bounding_box).items()}
        nodes.append(row)
    edges = [{"from_id": a, "relation_type": r, "to_id": b} for a, r, b in sorted(graph.edges)]
    return {"nodes": nodes, "edges": edges}


def facts_of_graph(graph, vocabulary):
    """Facts of a graph, by predicate; raises SceneError where the agent is in no room."""
    home = HomeFacts(graph, vocabulary)
    return {**home.groups, **{predicate: make() for predicate, make in home.late.items()}}


def graph_of_facts(graph, vocabulary, facts):
    """The graph with the current states and edges; everything else is unchanged."""
    person, number = graph.character.id, {name: node.id for name, node in graph.by_name.items()}
    state_of = {p: s for s, p in vocabulary.states.items()}
    states = {
        i: [s for s in n.states if n.category == ROOMS or s not in vocabulary.states] for i, n in graph.nodes.items()
    }
    states[person] = [s for s in states[person] if s not in ("SITTING", "LYING")]
    edges = set()
    for predicate, *args in facts:
        ids = [number[a] for a in args]
        if predicate in state_of:
            states[ids[0]].append(state_of[predicate])
        elif predicate in ("sitting", "lying"):
            states[person].append(predicate.upper())
        elif predicate in TO_PERSON:
            edges.add((person, TO_PERSON[predicate], ids[0]))
            if predicate == "close_to":
                edges.add((ids[0], "CLOSE", person))
        elif predicate in TO_THINGS:
            edges.add((ids[0], TO_THINGS[predicate], ids[1]))
        elif predicate == "worn":
            edges.add((ids[0], "ON", person))
        elif predicate == "in_room":
            edges.add((ids[0], "INSIDE", ids[1]))
        elif predicate == "agent_in":
            edges.add((person, "INSIDE", ids[0]))
    order = list(vocabulary.states) + ["SITTING", "LYING"]
    known = {s: i for i, s in enumerate(order)}
    nodes = {
        i: msgspec.structs.replace(node, states=tuple(sorted(states[i], key=lambda s: known.get(s, 99))))
        for i, node in graph.nodes.items()
    }
    return Graph(nodes, [msgspec.convert(dict(zip(Link.__struct_fields__, edge)), Link) for edge in edges])
