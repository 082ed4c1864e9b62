"""VirtualHome's graphs and script lines: reading, writing, and saying what is wrong with them."""

import contextlib
import json
import re

import pytest
from codes import raises_code
from doubles.home_graphs import as_json, facts_of_graph, graph_of_facts
from hypothesis import given
from hypothesis import strategies as st

from planweave.bodies.home.graph import graph_from, load_graph, read_graph
from planweave.bodies.home.vocabulary import HomeVocabulary, read_line, write_line
from planweave.core.base.errors import PlanweaveError, SceneError
from planweave.core.base.paths import config_dir
from planweave.core.symbolic.world import Action

SCENES = sorted(p.stem for p in (config_dir() / "scenes").glob("*.json"))


def small(**changes):
    """A home of one room with a person, a closed fridge and a salmon in it."""
    data = {
        "nodes": [
            {"id": 1, "class_name": "kitchen", "category": "Rooms", "properties": [], "states": []},
            {"id": 2, "class_name": "character", "category": "Characters", "properties": [], "states": []},
            {
                "id": 3,
                "class_name": "fridge",
                "category": "Appliances",
                "properties": ["CAN_OPEN"],
                "states": ["CLOSED"],
                "bounding_box": {"center": [1, 0.9, 2], "size": [0.8, 1.8, 0.7]},
            },
            {
                "id": 4,
                "class_name": "food_Salmon 2",
                "category": "Food",
                "properties": ["GRABBABLE"],
                "states": [],
                "prefab_name": "Salmon_2",
            },
        ],
        "edges": [
            {"from_id": 2, "relation_type": "INSIDE", "to_id": 1},
            {"from_id": 3, "relation_type": "INSIDE", "to_id": 1},
            {"from_id": 4, "relation_type": "inside", "to_id": 3},
        ],
    }
    return {**data, **changes}


def with_node(**node):
    return small(nodes=[*small()["nodes"], node])


def with_edge(edge):
    return small(edges=[*small()["edges"], edge])


@pytest.mark.parametrize(
    ("graph", "data"),
    [
        ([], ('"nodes"', '"edges"')),
        ({"nodes": [], "edges": {}}, ('"nodes"', '"edges"')),
        (with_node(id=3, class_name="table"), ("nodes[4]", "<fridge> (3)", "<table> (3)")),
        (with_node(id="7", class_name="table"), ("nodes[4]", "'7'")),
        (with_node(id=True, class_name="table"), ("nodes[4]", "True")),
        (with_node(id=7), "class_name"),
        (with_node(id=7, class_name="a>b"), "'a>b'"),
        (with_node(id=7, class_name="table", states="CLEAN"), ("states", "'CLEAN'")),
        (with_node(id=7, class_name="table", properties=[3]), ("properties", "[3]")),
        (with_node(id=7, class_name="table", bounding_box={"center": [1, 2]}), "bounding_box.center"),
        (small(nodes=["fridge"]), "class_name"),
        (with_edge({"from_id": 4, "relation_type": "UNDER", "to_id": 3}), ("edges[3]", "'UNDER'", "BETWEEN")),
        (with_edge({"from_id": 9, "relation_type": "ON", "to_id": 3}), "edges[3]: from_id 9"),
        (with_edge({"from_id": 4, "relation_type": "ON", "to_id": [3]}), "to_id [3]"),
        (with_edge({"from_id": 4, "to_id": 3}), ("from_id, relation_type", "to_id")),
        (with_edge(7), "from_id"),
        (small(nodes=small()["nodes"][1:], edges=[]), '"Rooms"'),
        (small(nodes=[small()["nodes"][0]], edges=[]), '"character"'),
    ],
)
def test_bad_graphs(graph, data):
    with raises_code("scene", data):
        graph_from(graph)


@pytest.mark.parametrize(
    ("text", "data"),
    [('{"nodes": [],\n "edges": ]}', ("home:2:11", "JSON")), ("", ("home:1:1", "JSON")), ("[" * 100_000, "home")],
)
def test_bad_json(text, data):
    with raises_code("scene", data):
        read_graph(text, "home")


def test_parsed_and_unparsed_in_any_case_of_letters():
    """The quick way and the careful one read the same, and pass over keys that nothing uses."""
    data = small()
    data["edges"][2]["relation_type"] = "INSIDE"
    quick, parsed, careful = read_graph(json.dumps(data)), graph_from(data), graph_from(small())
    others = [n for n in small()["nodes"] if n["id"] != 3]
    odd = small(nodes=[{**small()["nodes"][2], "states": ["closed"], "note": 7}, *others])
    assert as_json(quick)["nodes"] == as_json(parsed)["nodes"] == as_json(careful)["nodes"]
    assert quick.edges == parsed.edges == careful.edges == graph_from({"init_graph": odd}).edges
    row = as_json(read_graph(json.dumps(odd)))["nodes"][0]
    assert row["states"] == ["CLOSED"] and row["bounding_box"]["center"] == [1, 0.9, 2]


@pytest.mark.parametrize(
    "data",
    [
        with_node(id=3, class_name="table"),
        with_edge({"from_id": 4, "relation_type": "UNDER", "to_id": 3}),
        with_edge({"from_id": 9, "relation_type": "ON", "to_id": 3}),
        with_node(id=7, class_name=" "),
    ],
)
def test_text_is_checked_as_parsed_json_is(data):
    with pytest.raises(SceneError) as parsed:
        graph_from(data)
    with pytest.raises(SceneError) as text:
        read_graph(json.dumps(data))
    assert str(text.value) == str(parsed.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["nodes", "edges", "id", "class_name", "from_id", "to_id", "relation_type", "states"]),
                inner,
                max_size=5,
            )
        ),
        max_leaves=25,
    )
)
def test_whatever_json_is_given_the_error_is_ours(data):
    with contextlib.suppress(SceneError):
        graph_from(data)


def test_where_scenes_come_from(tmp_path):
    path = tmp_path / "own.json"
    path.write_text(json.dumps(small()))
    assert load_graph(str(path)).nodes[3].class_name == "fridge"
    with raises_code("scene", "other.json"):
        load_graph(str(tmp_path / "other.json"))
    with raises_code("unknown_name", "'home_flat'"):
        load_graph("home_flatt")
    path.write_bytes(b"\xff\xfe")
    with raises_code("scene", "own.json"):
        load_graph(str(path))


@pytest.mark.parametrize(
    ("edges", "data"),
    [
        ([], "<character> (2)"),
        (
            [*small()["edges"], *({"from_id": 2, "relation_type": "HOLDS_RH", "to_id": i} for i in (3, 4))],
            ("<character> (2)", "HOLDS_RH"),
        ),
    ],
)
def test_a_person_that_cannot_be(edges, data):
    with raises_code("scene", data):
        facts_of_graph(graph_from(small(edges=edges)), HomeVocabulary.load())


def test_facts_of_a_small_home():
    graph, vocabulary = graph_from(small()), HomeVocabulary.load()
    facts = {f for group in facts_of_graph(graph, vocabulary).values() for f in group}
    assert facts == {
        ("agent_in", "kitchen_1"),
        ("in_room", "fridge_3", "kitchen_1"),
        ("in_room", "food_salmon_2_4", "kitchen_1"),
        ("inside", "food_salmon_2_4", "fridge_3"),
        ("closed", "fridge_3"),
        ("can_open", "fridge_3"),
        ("container", "fridge_3"),
        ("grabbable", "food_salmon_2_4"),
        ("right_hand_free",),
        ("left_hand_free",),
    }
    back = graph_of_facts(graph, vocabulary, facts)
    assert back.edges == graph.edges | {(4, "INSIDE", 1)}  # the room of everything is told
    assert as_json(back)["nodes"][2] == {**small()["nodes"][2], "states": ["CLOSED"]}


def test_a_person_that_sits():
    data = with_edge({"from_id": 2, "relation_type": "SITTING", "to_id": 3})
    data["nodes"][1]["states"] = ["SITTING"]
    graph, vocabulary = graph_from(data), HomeVocabulary.load()
    groups = facts_of_graph(graph, vocabulary)
    assert groups["agent_on"] == {("agent_on", "fridge_3")} and groups["sitting"] == {("sitting",)}
    back = graph_of_facts(graph, vocabulary, [f for group in groups.values() for f in group])
    assert (2, "ON", 3) in back.edges and back.nodes[2].states == ("SITTING",)


@pytest.mark.parametrize("scene", SCENES)
def test_own_scenes_come_back_as_they_were(scene):
    graph, vocabulary = load_graph(scene), HomeVocabulary.load()
    facts = [f for group in facts_of_graph(graph, vocabulary).values() for f in group]
    back = graph_of_facts(graph, vocabulary, facts)
    assert back.edges == graph.edges
    assert {i: set(n.states) for i, n in back.nodes.items()} == {i: set(n.states) for i, n in graph.nodes.items()}
    assert graph_from(json.loads(json.dumps(as_json(back)))).edges == graph.edges


@pytest.mark.parametrize("scene", SCENES)
def test_own_scenes_have_what_the_papers_tasks_need(scene):
    graph = load_graph(scene)
    classes = {n.class_name for n in graph.nodes.values()}
    assert classes >= set(
        re.findall(
            r"\w+",
            """
        tv sofa light_switch toothbrush toothpaste apple garbage_can bread toaster knife chips salmon fridge plate sink
        faucet coffee_pot cupcake coffee_table microwave mug coffee_maker wine_glass kitchen_cabinet lime""",
        )
    )
    close = {(a, b) for a, r, b in graph.edges if r == "CLOSE"}
    assert close == {(b, a) for a, b in close}
    assert all(n.centre is not None and n.size is not None for n in graph.nodes.values())


@pytest.mark.parametrize(
    "line, action",
    [
        ("[WALK] <fridge> (3)", Action("walk", ("fridge_3",))),
        ("<char0> [open] <fridge> (3)", Action("open", ("fridge_3",))),
        ("[PutBack] <food_salmon_2> (4) <fridge> (1.3)", Action("putback", ("food_salmon_2_4", "fridge_3"))),
        ("  [putin] <Food_Salmon 2>(4)<fridge>(3) [7]\n", Action("putin", ("food_salmon_2_4", "fridge_3"))),
        ("[STANDUP]", Action("standup")),
        ("[stand up] [3]", Action("standup")),
    ],
)
def test_reading_lines(line, action):
    assert read_line(line, graph_from(small()), HomeVocabulary.load()) == action


@pytest.mark.parametrize(
    ("line", "code", "data"),
    [
        ("walk to the fridge", "unreadable_reply", "'walk to the fridge'"),
        ("[WALK] fridge (3)", "unreadable_reply", "<class>"),
        ("[WALK] <fridge>", "unreadable_reply", "<class>"),
        ("[FLY] <fridge> (3)", "unknown_name", "'fly'"),
        ("[WALK] <frigde> (3)", "unknown_name", "'fridge'"),
        ("[WALK] <fridge> (4)", "invalid_action", ("food_Salmon 2", "<fridge> (3)")),
        ("[WALK] <fridge> (99)", "invalid_action", ("<fridge> (99)", "<fridge> (3)")),
        ("[WALK]", "invalid_action", ("[WALK]", "1 object", "got 0")),
        ("[GRAB] <fridge> (3) <fridge> (3)", "invalid_action", "1 object"),
        ("[WALK] <" + "x" * 1_000_000 + "> (3)", "unreadable_reply", "[WALK] <xxxxx"),
    ],
)
def test_lines_that_are_wrong(line, code, data):
    with raises_code(code, data):
        read_line(line, graph_from(small()), HomeVocabulary.load())


@given(st.text(alphabet="[]<>()123.charwlkfidge \n_-", max_size=60))
def test_whatever_line_is_given_the_error_is_ours(line):
    with contextlib.suppress(PlanweaveError):
        read_line(line, graph_from(small()), HomeVocabulary.load())


def test_writing_lines():
    graph = graph_from(small())
    action = Action("putin", ("food_salmon_2_4", "fridge_3"))
    assert write_line(action, graph) == "[PUTIN] <food_Salmon 2> (4) <fridge> (3)"
    assert write_line(action, graph, character=0) == "<char0> [putin] <food_Salmon 2> (4) <fridge> (3)"
    assert write_line(Action("standup"), graph, index=2) == "[STANDUP] [2]"
    assert read_line(write_line(action, graph, character=0), graph, HomeVocabulary.load()) == action
