"""The built-in simulator: VirtualHome's words for what cannot be done, partial observation, pictures."""

import io
import itertools

import pytest
from doubles.home_graphs import execute_line, graph_dict, graph_now
from PIL import Image

from planweave.bodies.home.graph import graph_from, load_graph
from planweave.bodies.home.home import SimulatedHome
from planweave.bodies.home.observation import Observer, visible
from planweave.bodies.home.picture import floor_plan, png
from planweave.bodies.home.port import HomePort
from planweave.bodies.home.simulator import HomeSimulator
from planweave.core.base.errors import SceneError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action, Known, Literal


def run(simulator, script):
    """Run lines with class names only, ``[grab] <apple>``; the last step. All others must succeed."""
    ids = {n.class_name: n.id for n in reversed(simulator.graph.nodes.values())}
    *most, last = script.split(";")
    for line in (*most, last):
        for name, number in ids.items():
            line = line.replace(f"<{name}>", f"<{name}> ({number})")
        step = execute_line(simulator, line.strip())
        assert step.ok or line.strip().startswith(last.strip()[:8]), step.message
    return step


@pytest.fixture
def flat():
    return HomeSimulator(load_graph("home_flat"))


C = r"<character> (5)"


@pytest.mark.parametrize(
    "script, message",
    [
        ("[GRAB] <apple>", f'{C} is not close to <apple> (50) when executing "[GRAB] <apple> (50) [1]"'),
        ("[WALK] <fridge>; [CLOSE] <fridge>", '<fridge> (10) is not open when executing "[CLOSE] <fridge> (10) [2]"'),
        ("[WALK] <fridge>; [OPEN] <fridge>; [OPEN] <fridge>", "<fridge> (10) is not closed when"),
        ("[WALK] <milk>; [GRAB] <milk>", "<milk> (62) is inside other closed thing when"),
        ("[WALK] <table> (3)", "unknown class of objects 'table'"),
        ("[WALK] <apple>; [GRAB] <apple>; [GRAB] <plate>; [GRAB] <mug>", f"{C} does not have a free hand when"),
        ("[WALK] <apple>; [GRAB] <apple>; [GRAB] <apple>", "<apple> (50) already grabbed when"),
        ("[WALK] <fridge>; [GRAB] <fridge>", "<fridge> (10) is not grabbable when"),
        (
            "[WALK] <apple>; [GRAB] <apple>; [WALK] <fridge>; [PUTIN] <apple> <fridge>",
            "<fridge> (10) is not open or is not openable when",
        ),
        ("[WALK] <apple>; [GRAB] <apple>; [WALK] <tv>; [PUTIN] <apple> <tv>", "<tv> (65) is not a container when"),
        (
            "[WALK] <apple>; [GRAB] <apple>; [PUTBACK] <apple> <apple>",
            "<apple> (50) can not be put on or in itself when",
        ),
        ("[WALK] <apple>; [PUTBACK] <apple> <kitchen_table>", f"{C} is not holding <apple> (50) when"),
        (
            "[WALK] <apple>; [GRAB] <apple>; [WALK] <sofa>; [PUTOBJBACK] <apple>",
            f"{C} is not close to <kitchen_table> (14) when",
        ),
        ("[WALK] <sofa>; [SIT] <sofa>; [WALK] <fridge>", f"{C} is sitting when"),
        ("[WALK] <bed>; [LIE] <bed>; [WALK] <fridge>", f"{C} is lying when"),
        ("[WALK] <sofa>; [SIT] <sofa>; [SIT] <sofa>", f"{C} is sitting when"),
        ("[STANDUP]", f'{C} is not sitting when executing "[STANDUP] [1]"'),
        ("[SLEEP]", f"{C} is not lying or sitting when"),
        ("[WALK] <tv>; [SWITCHOFF] <tv>", "<tv> (65) is not on when"),
        ("[WALK] <tv>; [PLUGOUT] <tv>; [SWITCHON] <tv>", "<tv> (65) is unplugged when"),
        ("[WALK] <tv>; [SWITCHON] <tv>; [PLUGOUT] <tv>", "<tv> (65) is still on when"),
        ("[WALK] <microwave>; [SWITCHON] <microwave>; [OPEN] <microwave>", "<microwave> (41) is still on when"),
        ("[WALK] <sofa>; [SWITCHON] <sofa>", "<sofa> (18) does not have a switch when"),
        ("[WALK] <sofa>; [LOOKAT] <tv>", f"{C} does not face <tv> (65) when"),
        (
            "[WALK] <kitchen>; [TURNTO] <tv>; [WATCH] <tv>",
            "char room <kitchen> (1) is not node room <living_room> (2) when",
        ),
        ("[WALK] <bread>; [CUT] <bread>", f"{C} is not holding a knife when"),
        ("[WALK] <plate>; [WIPE] <plate>", f"{C} does not hold anything in hands when"),
        ("[WALK] <book>; [READ] <book>", f"{C} is not holding <book> (68) when"),
        ("[WALK] <sofa>; [EAT] <sofa>", "<sofa> (18) is not eatable when"),
        ("[WALK] <shirt>; [PUTON] <shirt>", f"{C} is not holding <shirt> (76) when"),
        ("[PUTOFF] <shirt>", f"<shirt> (76) is not on {C} when"),
        ("[GREET] <sofa>", "<sofa> (18) is not person when"),
        (
            "[WALK] <apple>; [GRAB] <apple>; [WALK] <chair>; [PUTBACK] <apple> <chair>; [SIT] <chair>",
            "Too many things on <chair> (15) when",
        ),
        (
            "[WALK] <plate>; [GRAB] <plate>; [WALK] <apple>; [GRAB] <apple>; [PUTBACK] <apple> <plate>; "
            "[PUTBACK] <plate> <apple>",
            "<apple> (50) is on <plate> (51) when",
        ),
    ],
)
def test_wording(flat, script, message):
    *most, last = script.split(";")
    if most:
        assert run(flat, ";".join(most)).ok
    before = flat.state.facts
    step = run(flat, last)
    assert not step.ok and step.message.startswith(message), step.message
    assert flat.state.facts == before  # what cannot be done changes nothing


@pytest.mark.parametrize(
    "action, code, words",
    [
        (Action("fly", ("fridge_10",)), Code.INVALID_ACTION, "unknown action 'fly'"),
        (Action("walk", ("fridge_11",)), Code.UNKNOWN_OBJECT, "did you mean 'fridge_10'"),
        (Action("walk"), Code.INVALID_ACTION, "takes 1 argument"),
        (Action("grab", ("kitchen_1",)), Code.INVALID_ACTION, "must be: item"),
    ],
)
def test_what_is_no_action(flat, action, code, words):
    step = flat.execute(action)
    assert step.code is code and words in step.message


def test_reset_brings_everything_back(flat):
    before = flat.state.facts
    assert run(flat, "[WALK] <apple>; [GRAB] <apple>; [WALK] <tv>; [SWITCHON] <tv>; [DROP] <apple>").ok
    assert flat.state.facts != before
    flat.reset()
    assert flat.state.facts == before and flat.steps == 0


def test_graph_now_can_be_loaded_and_goes_on_from_there(flat):
    assert run(flat, "[WALK] <apple>; [GRAB] <apple>; [WALK] <fridge>; [OPEN] <fridge>").ok
    again = HomeSimulator(graph_from(graph_dict(graph_now(flat))))
    assert again.graph.edges >= {(5, "HOLDS_RH", 50), (5, "INSIDE", 1), (5, "CLOSE", 10), (50, "CLOSE", 5)}
    assert run(again, "[PUTIN] <apple> <fridge>; [CLOSE] <fridge>").ok
    assert "CLOSED" in graph_now(again).nodes[10].states and (50, "INSIDE", 10) in graph_now(again).edges


# ---- partial observation


def body(scene="home_flat", **options):
    return HomePort(SimulatedHome(scene), **options)


def act(body, text):
    return body.execute(Action.parse(text))


def facts(world):
    return {str(f) for f in world.facts}


def test_one_sees_the_room_but_not_into_closed_things(flat):
    flat.execute(Action("walk", ("kitchen_1",)))
    seen = visible(flat)
    assert {"salmon_49", "fridge_10", "faucet_8"} <= seen
    assert not seen & {"milk_62", "tv_65", "mug_57"}  # in the fridge, in another room, in a cabinet
    assert run(flat, "[WALK] <fridge>; [OPEN] <fridge>").ok
    assert "milk_62" in visible(flat)


def test_what_was_seen_is_remembered_until_it_is_seen_otherwise():
    home = body()
    assert "on(salmon_49, kitchen_table_14)" not in facts(home.observe())
    assert "unseen(salmon_49)" in facts(home.observe()) and "unseen(sofa_18)" not in facts(home.observe())
    act(home, "walk(kitchen_1)")
    act(home, "walk(bedroom_4)")
    told = facts(home.observe())
    assert {"on(salmon_49, kitchen_table_14)", "closed(fridge_10)", "agent_in(bedroom_4)"} <= told
    assert "inside(milk_62, fridge_10)" not in told and "agent_in(kitchen_1)" not in told
    home.home.simulator.state.discard(("on", "salmon_49", "kitchen_table_14"))  # somebody takes it away
    home.home.simulator.state.discard(("in_room", "salmon_49", "kitchen_1"))
    assert "on(salmon_49, kitchen_table_14)" in facts(home.observe())
    act(home, "walk(kitchen_1)")
    assert "on(salmon_49, kitchen_table_14)" not in facts(home.observe())


def test_what_is_put_away_is_remembered():
    home = body()
    for text in (
        "walk(salmon_49)",
        "grab(salmon_49)",
        "walk(fridge_10)",
        "open(fridge_10)",
        "putin(salmon_49, fridge_10)",
        "close(fridge_10)",
    ):
        assert act(home, text).ok
    assert {"inside(salmon_49, fridge_10)", "closed(fridge_10)"} <= facts(home.observe())
    act(home, "walk(sofa_18)")
    assert "inside(salmon_49, fridge_10)" in facts(home.observe())


def test_a_failure_gives_away_what_is_hidden():
    home = body("home_studio")
    salmon, fridge = "salmon_33", "fridge_8"
    act(home, f"walk({salmon})")
    assert f"inside({salmon}, {fridge})" not in facts(home.observe())
    step = act(home, f"grab({salmon})")
    assert step.code is Code.PRECONDITION_UNMET and [str(u) for u in step.unmet] == [f"not closed({fridge})"]
    assert f"inside({salmon}, {fridge})" in facts(home.observe())
    assert known(home, salmon) == (Known.INFERRED, None, fridge)


def known(home, name):
    thing = home.observe().by_name[name]
    return thing.known, thing.last_seen, thing.hidden_by


def test_it_says_how_each_thing_is_known():
    stamps = itertools.count(1.0)
    home = body(clock=lambda: next(stamps))
    assert known(home, "kitchen_1") == (Known.FIXED, None, "")
    assert known(home, "sofa_18") == (Known.SEEN, 1.0, "") and known(home, "salmon_49") == (Known.UNKNOWN, None, "")
    for text in (
        "walk(salmon_49)",
        "grab(salmon_49)",
        "walk(fridge_10)",
        "open(fridge_10)",
        "putin(salmon_49, fridge_10)",
    ):
        assert act(home, text).ok
    assert known(home, "salmon_49") == (Known.SEEN, 6.0, "")
    assert known(home, "sofa_18") == (Known.REMEMBERED, 1.0, "living_room_2")
    assert act(home, "close(fridge_10)").ok
    assert known(home, "salmon_49") == (Known.REMEMBERED, 6.0, "fridge_10")
    assert home.look().world.stamp == 8.0 and known(home, "fridge_10") == (Known.SEEN, 8.0, "")
    act(home, "walk(sofa_18)")
    assert known(home, "salmon_49") == (Known.REMEMBERED, 6.0, "fridge_10")
    assert known(home, "fridge_10") == (Known.REMEMBERED, 8.0, "kitchen_1")
    assert known(home, "sofa_18") == (Known.SEEN, 9.0, "")


def test_names_of_unseen_things_can_be_withheld():
    home = body(names="seen")
    assert "salmon_49" not in home.observe().by_name and {"kitchen_1", "sofa_18"} <= set(home.observe().by_name)
    step = act(home, "walk(salmon_49)")
    assert step.code is Code.UNKNOWN_OBJECT
    act(home, "walk(kitchen_1)")
    assert "salmon_49" in home.observe().by_name and "milk_62" not in home.observe().by_name


def test_full_observation_tells_everything(flat):
    world = body(partial=False).observe()
    assert facts(world) == facts(flat.world())


def test_the_world_is_well_formed_and_says_what_was_seen():
    home = body()
    act(home, "walk(apple_50)")
    act(home, "grab(apple_50)")
    world = home.observe()
    domain = home.home.simulator.vocabulary.domain
    for fact in world.facts:
        domain.check_literal(fact, world)
    assert world.by_name["plate_51"].attributes["seen"] == "yes" and world.by_name["plate_51"].position is not None
    assert world.by_name["tv_65"].attributes["seen"] == "yes"  # the first room
    assert world.by_name["bed_32"].attributes["seen"] == "no" and world.by_name["bed_32"].position is None
    assert world.by_name["apple_50"].position is None  # in the hand
    act(home, "walk(sofa_18)")
    act(home, "putback(apple_50, sofa_18)")
    x, y, z = home.observe().by_name["apple_50"].position
    sofa = home.observe().by_name["sofa_18"]
    assert (x, y) == sofa.position[:2] and z > sofa.position[2]


def test_observing_again_without_change_tells_the_same(flat):
    observer = Observer()
    observer.begin(flat)
    assert observer.look(flat) == observer.look(flat)


def test_a_scene_that_cannot_be_loaded_leaves_the_old_one():
    home = body()
    before = home.observe()
    for scene, error in (("home_flatt", UnknownNameError), ("/nowhere/x.json", SceneError)):
        with pytest.raises(error):
            home.load(scene)
    assert home.observe() == before
    home.load("home_studio")
    assert "bed_16" in home.observe().by_name and home.observe().revision > before.revision


def test_time_and_cancelling():
    home = SimulatedHome("home_flat", seconds=30.0)
    late = home.execute(Action("walk", ("fridge_10",)), 0.05, lambda: False)
    stopped = home.execute(Action("walk", ("fridge_10",)), 60.0, lambda: True)
    assert (late.code, stopped.code) == (Code.TIMEOUT, Code.CANCELED)
    assert not home.simulator.holds(Literal("agent_in", ("kitchen_1",)))


# ---- pictures


@pytest.mark.parametrize("scene", ["home_flat", "home_studio", "home_house"])
def test_a_picture_of_each_home(scene):
    image = Image.open(io.BytesIO(png(HomeSimulator(load_graph(scene)))))
    assert image.format == "PNG" and image.width == 1280 and 300 < image.height < 1600
    assert len(image.getcolors(1 << 20)) > 20


def test_the_picture_shows_what_changes(flat):
    before = floor_plan(flat)
    assert run(flat, "[WALK] <tv>; [SWITCHON] <tv>").ok
    after = floor_plan(flat)
    assert before.tobytes() != after.tobytes()
    yellow = (0xF2, 0xB6, 0x32)
    assert (
        sum(n for n, c in after.getcolors(1 << 20) if c == yellow)
        > sum(n for n, c in before.getcolors(1 << 20) if c == yellow) + 500
    )


def test_a_home_without_positions_is_drawn_too():
    data = graph_dict(load_graph("home_flat"))
    for node in data["nodes"]:
        node.pop("bounding_box", None)
    simulator = HomeSimulator(graph_from(data))
    assert run(simulator, "[WALK] <apple>; [GRAB] <apple>; [WALK] <sofa>; [SIT] <sofa>").ok
    assert len(floor_plan(simulator).getcolors(1 << 20)) > 20


@pytest.mark.parametrize("scene", ["home_flat", "home_studio", "home_house"])
def test_names_on_the_plan_do_not_cover_each_other(scene, monkeypatch):
    from planweave.bodies.home import picture

    texts = []
    write = picture._Plan._write

    def kept(self, x, y, text, size, colour, anywhere=False):
        write(self, x, y, text, size, colour, anywhere)
        if text != "you" and not anywhere:
            texts.append((text, self._taken[-1]))

    monkeypatch.setattr(picture._Plan, "_write", kept)
    floor_plan(HomeSimulator(load_graph(scene)))
    assert len(texts) > 10
    covered = [
        (a, b)
        for (a, p), (b, q) in itertools.combinations(texts, 2)
        if min(p[2], q[2]) - max(p[0], q[0]) > 1 and min(p[3], q[3]) - max(p[1], q[1]) > 1
    ]
    assert not covered
