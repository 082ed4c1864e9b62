"""The loops beside Tree-Planner: good path, the papers' recovery paths, and bad replies."""

import math
from dataclasses import replace

import pytest
from doubles.scripted import ScriptedPlanner, SymbolicBody, literals, plan, tabletop

from planweave.core.base.errors import ParseError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal
from planweave.core.workflow.ports import Candidate
from planweave.methods.base_llm import BaseLLM
from planweave.methods.blocking import Blocking
from planweave.methods.brainbody import BrainBody
from planweave.methods.iterative import Iterative
from planweave.methods.lang_prompt import LangPrompt
from planweave.methods.progprompt import ProgPrompt
from planweave.methods.running.episode import Episode
from planweave.methods.running.journal import Journal
from planweave.methods.scene_aware import SceneAware
from planweave.methods.zero_shot import ZeroShot

OBJECTS = "a b: item; left_tray right_tray: container; plate: surface; table middle: location"
FACTS = "at(a, table); at(b, table); within(middle, table)"
GRASP, PLACE, END = Action.parse("grasp(a)"), Action.parse("place_in(a, left_tray)"), None


def run(method, goal="in(a, left_tray)", faults=None, world=None, said=(), body=None, **script):
    planner = ScriptedPlanner(**script)
    body = body or SymbolicBody(world or tabletop(OBJECTS, FACTS), faults)
    e = Episode("t", "do it", literals(goal), Domain.load("tabletop"), planner, body, Journal())
    e.said.extend(said)
    method.run(e)
    return e, planner, body


def c(action, text="", **more):
    return Candidate(text or str(action), action, **more)


def asked(planner, kind):
    return [row for row in planner.asked if row[0] == kind]


def test_iterative_appends_until_the_model_ends():
    e, planner, body = run(Iterative(), steps=[c(GRASP), c(PLACE), c(END)])
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and e.phase == "plan ended"
    assert [row[2] for row in asked(planner, "propose")] == [(), ("grasp(a)",), ("grasp(a)", "place_in(a, left_tray)")]


FAULT = {"place_in(a, left_tray)": [(Code.PLANNING_FAILED, "no path")]}


def test_iterative_without_replanning_ends_at_a_failure():
    e, _, body = run(Iterative("none"), faults=dict(FAULT), steps=[c(GRASP), c(PLACE)])
    assert body.done == ["grasp(a)"] and e.corrections == 0 and "no path" in e.message


def test_local_replanning_asks_again_at_the_failed_step():
    faults = {"place_in(a, left_tray)": [(Code.PLANNING_FAILED, "no path")]}
    e, planner, body = run(Iterative("local"), faults=faults, steps=[c(GRASP), c(PLACE), c(PLACE), c(END)])
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and e.corrections == 1
    assert asked(planner, "propose")[2][2:] == (("grasp(a)",), ("place_in(a, left_tray): no path",))
    assert asked(planner, "propose")[3][3] == ()


def test_global_replanning_starts_from_the_first_step_with_everything_taken_back():
    faults = {"place_in(a, left_tray)": [(Code.PLANNING_FAILED, "no path")]}
    e, planner, body = run(Iterative("global"), faults=faults, steps=[c(GRASP), c(PLACE), c(GRASP), c(PLACE), c(END)])
    assert body.done == ["grasp(a)", "place_at(a, table)", "grasp(a)", "place_in(a, left_tray)"]
    assert asked(planner, "propose")[2][2] == () and e.corrections == 1
    error = ("place_in(a, left_tray): no path",)
    assert [row[3] for row in asked(planner, "propose")] == [(), (), error, error, ()], "until its step is done"


def test_iterative_stops_after_its_limits():
    faults = {"grasp(a)": [(Code.NO_GRASP, "empty")] * 9}
    e, _, _ = run(Iterative("local", max_corrections=2), faults=faults, steps=[c(GRASP)] * 9)
    assert e.corrections == 2 and e.steps == 3
    e, _, _ = run(Iterative(max_steps=4), steps=[c(Action.parse("return_to_base()"))] * 9)
    assert e.steps == 4 and " 4 " in e.message


def test_what_people_say_is_one_more_error():
    _, planner, _ = run(Iterative(), steps=[c(GRASP), c(PLACE), c(END)], said=["mind the glass"])
    assert asked(planner, "propose")[0][3] == ("mind the glass",)


def test_zero_shot_takes_the_best_sample_and_executes_afterwards():
    rows = [[c(PLACE, match=0.4), c(GRASP, match=0.9)], [c(PLACE, match=0.8)], [c(GRASP, match=0.3)]]
    _, planner, body = run(ZeroShot(), steps=rows)
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"]
    assert asked(planner, "propose")[1][2] == ("grasp(a)",)


def test_zero_shot_ends_when_more_than_half_of_the_samples_say_so():
    rows = [[c(END)] + [c(GRASP)] * 9, [c(END)] * 5 + [c(PLACE)] * 5, [c(END)] * 6 + [c(GRASP)] * 4, [c(GRASP)]]
    _, planner, body = run(ZeroShot(), steps=rows)
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and len(asked(planner, "propose")) == 3


def test_as_in_the_paper_votes_for_the_end_do_not_count_in_scene_aware():
    rows = [[c(END)] * 9 + [c(GRASP)], [c(END)] * 10]
    _, planner, body = run(SceneAware(paper=True), steps=rows)
    assert body.done == ["grasp(a)"]


@pytest.mark.parametrize(
    ("ended", "step", "done"),
    [
        ([c(END, logprob=-0.1)] * 2, [c(GRASP, match=0.9, logprob=-0.2)] * 2, []),  # the more probable half says so
        ([c(END, logprob=-0.9)] * 3, [c(GRASP, match=0.9, logprob=-0.2)], ["grasp(a)"]),  # the most probable does not
        ([c(END)] * 3, [c(GRASP, match=0.9)], []),  # without log-probabilities: more than half
        ([c(END)] * 2, [c(GRASP, match=0.9)] * 2, ["grasp(a)"]),
    ],
)
def test_as_in_its_code_zero_shot_ends_where_the_more_probable_half_says_so(ended, step, done):
    _, planner, body = run(ZeroShot(paper=True), steps=[[*ended, *step], [c(END)]])
    assert body.done == done and asked(planner, "propose")[0][1] == "zero_shot_without_objects"


def test_as_in_its_code_zero_shot_takes_off_for_the_last_action_again():
    rows = [[c(GRASP, match=0.9)], [c(GRASP, match=0.9), c(PLACE, match=0.6)], [c(PLACE, match=0.9)]]
    _, planner, body = run(ZeroShot(paper=True), steps=[list(row) for row in rows])
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"]
    assert len(asked(planner, "propose")) == 3, "the last action again is below the cutoff"
    _, planner, _ = run(ZeroShot(max_steps=2), steps=rows)
    assert ZeroShot().score(c(GRASP, match=0.9), [GRASP]) == 0.9


def test_brainbody_takes_a_reply_without_a_command_for_a_failed_step():
    planner = ScriptedPlanner(texts=["grasp(a)\nplace_in(a, left_tray)", "grasp(a)\nplace_in(a, left_tray)"])
    ground, replies = planner.ground_step, ["sorry"]

    def once(*args, **more):
        if replies:
            raise ParseError(f"no command in the reply {replies.pop()!r}")
        return ground(*args, **more)

    planner.ground_step = once
    body = SymbolicBody(tabletop(OBJECTS, FACTS))
    e = Episode("t", "do it", literals("in(a, left_tray)"), Domain.load("tabletop"), planner, body, Journal())
    BrainBody().run(e)
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and e.corrections == 1
    assert asked(planner, "write")[1][3] == ("grasp(a): no command in the reply 'sorry'",)


def test_brainbody_ends_at_a_safety_stop():
    faults = {"grasp(a)": [(Code.SAFETY_STOP, "stopped by hand")]}
    e, planner, body = run(BrainBody(), faults=faults, texts=["grasp(a)\nplace_in(a, left_tray)"])
    assert body.done == [] and e.steps == 1 and len(asked(planner, "write")) == 1


def test_brainbody_without_the_guard_asks_k_times_about_the_same_error():
    faults = {"grasp(b)": [(Code.NO_GRASP, "empty")] * 9}
    _, planner, _ = run(BrainBody(paper=True), faults=faults, texts=["grasp(b)\ngrasp(a)"] * 5)
    assert len(asked(planner, "write")) == 4 and asked(planner, "write")[0][5] == {"reachability": False}


def test_scene_aware_ends_when_more_than_half_of_the_samples_say_so():
    rows = [[c(END)] * 5 + [c(GRASP)] * 5, [c(END)] * 6 + [c(PLACE)] * 4, [c(PLACE)]]
    e, planner, body = run(SceneAware(), steps=rows)
    assert body.done == ["grasp(a)"] and len(asked(planner, "propose")) == 2
    assert e.journal.events("scored")[-1]["ended"] == 6


def test_scene_aware_compares_the_distance_among_objects_of_one_class():
    """A far thing that the model matches better is not beaten by a near one of another class."""
    world = tabletop("cup_1 cup_2 bowl_1: item; left_tray: container; table: location", "at(cup_1, table)")
    spots = {"cup_1": (2.0, 0.0, 0.0), "cup_2": (1.0, 0.0, 0.0), "bowl_1": (0.1, 0.0, 0.0), "left_tray": (0.0,) * 3}
    kinds = {"cup_1": "cup", "cup_2": "cup", "bowl_1": "bowl"}
    objects = tuple(replace(o, position=spots.get(o.name), class_name=kinds.get(o.name, o.name)) for o in world.objects)
    world, plan = replace(world, objects=objects), [Action.parse("grasp(left_tray)")]
    found = [c(Action.parse(f"grasp({name})"), match=0.5) for name in ("cup_1", "cup_2", "bowl_1")]
    far, near, alone = (score for _, score in SceneAware()._scores(world, plan, found))
    assert near == alone and far == pytest.approx(near - 0.5 * (math.exp(-1) - math.exp(-2)))
    far, near, alone = (score for _, score in SceneAware(paper=True)._scores(world, plan, found))
    assert alone - near == pytest.approx(0.5 * (math.exp(-0.1) - math.exp(-1))), "as in the paper: P_oD itself"
    assert near - far == pytest.approx(0.5 * (math.exp(-1) - math.exp(-2)))
    first = [score for _, score in SceneAware(paper=True)._scores(world, [], found)]
    assert first == pytest.approx([alone + 0.5 * (1 - math.exp(-0.1))] * 3), "nothing is near at the first step"


def test_zero_shot_weighs_likelihood_and_stops_at_its_limit():
    rows = [[c(PLACE, match=0.9, logprob=-3.0), c(GRASP, match=0.8, logprob=-0.1)]] * 3
    _, _, body = run(ZeroShot(max_steps=2), steps=rows)
    assert body.done == ["grasp(a)"]  # the second grasp fails and is left behind


def test_base_llm_is_open_loop():
    faults = {"grasp(b)": [(Code.NO_GRASP, "empty")]}
    e, _, body = run(BaseLLM(), faults=faults, plans=[plan("grasp(b); grasp(a); place_in(a, left_tray)")])
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and e.corrections == 0


@pytest.mark.parametrize(
    ("method", "temperature", "top_p"),
    [(BaseLLM(), 0.0, 0.0), (BaseLLM(paper=True), 0.5, 1.0), (BaseLLM(temperature=1.0), 1.0, 1.0)],
)
def test_base_llm_is_asked_at_the_temperature_of_the_paper(method, temperature, top_p):
    _, planner, _ = run(method, plans=[plan("grasp(a)")])
    ((_, _, options),) = asked(planner, "generate")
    assert (options["temperature"], options["top_p"], options["samples"]) == (temperature, top_p, 1)


def test_lang_prompt_translates_each_step():
    _, planner, body = run(LangPrompt(), texts=["grasp(a)\nwait a little\nplace_in(a, left_tray)"])
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and len(asked(planner, "ground")) == 3


def test_brainbody_passes_what_needs_no_action():
    e, planner, body = run(BrainBody(), texts=["grasp(a)\nwait until it is still\nplace_in(a, left_tray)"])
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and e.corrections == 0
    assert [row[2] for row in asked(planner, "ground")][1] == "wait until it is still"


def test_brainbody_gets_a_new_tail_from_the_failed_step():
    faults = {"place_in(a, left_tray)": [(Code.PLANNING_FAILED, "no path to left_tray")]}
    texts = ["grasp(a)\nplace_in(a, left_tray)", "place_at(a, middle)\ngrasp(a)\nplace_in(a, left_tray)"]
    e, planner, body = run(BrainBody(), faults=faults, texts=texts)
    assert body.done == ["grasp(a)", "place_at(a, middle)", "grasp(a)", "place_in(a, left_tray)"]
    _, method, history, errors, start, _ = asked(planner, "write")[1]
    assert method == "brainbody_feedback" and start == 1 and history == ("grasp(a)", "place_in(a, left_tray)")
    assert errors == ("place_in(a, left_tray): no path to left_tray",) and e.corrections == 1


def test_brainbody_goes_on_after_k_loops_and_at_the_same_error_twice():
    faults = {"grasp(b)": [(Code.NO_GRASP, "empty")] * 9}
    texts = ["grasp(b)\ngrasp(a)\nplace_in(a, left_tray)"] * 5
    e, planner, body = run(BrainBody(), faults=dict(faults), texts=texts)
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and len(asked(planner, "write")) == 2  # oscillation
    faults = {"grasp(b)": [(Code.NO_GRASP, f"empty {i}") for i in range(9)]}
    e, planner, body = run(BrainBody(max_feedback=3), faults=faults, texts=texts)
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and e.corrections == 3


def test_brainbody_says_whether_reach_is_told_and_who_is_the_body():
    _, planner, _ = run(BrainBody(), texts=["grasp(a)"])
    assert asked(planner, "write")[0][5] == {"reachability": True} and asked(planner, "ground")[0][1] == "brainbody"
    _, planner, _ = run(BrainBody(tell_reachability=False, body="matching"), texts=["grasp(a)"])
    assert asked(planner, "write")[0][5] == {"reachability": False}
    assert asked(planner, "ground")[0][1] == "brainbody_matching"


PROGRAM = """def task():
    # 1: get a
    assert('hands' is 'empty')
    else: place_in('b', 'right_tray')
    grasp('a')
    place_in('a', 'left tray')"""


@pytest.mark.parametrize(
    "holding, expected",
    [
        (False, ["grasp(a)", "place_in(a, left_tray)"]),
        (True, ["place_in(b, right_tray)", "grasp(a)", "place_in(a, left_tray)"]),
    ],
)
def test_progprompt_recovers_where_an_assertion_fails(holding, expected):
    facts = "at(a, table); holding(b)" if holding else FACTS
    checks = {"'hands' is 'empty'": lambda w: w.holds(Literal("hand_empty"))}
    e, _, body = run(ProgPrompt(), world=tabletop(OBJECTS, facts), texts=[PROGRAM], checks=checks)
    assert body.done == expected and e.corrections == int(holding)


def test_progprompt_leaves_failed_and_unknown_things_behind():
    lines = ["grasp('ghost')", "place_in('a', 'left_tray')", "grasp('a')", "place_in('a', 'left_tray')"]
    text = "def task():\n" + "\n".join("    " + line for line in lines)
    e, _, body = run(ProgPrompt(), texts=[text])
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"]
    assert "unknown object 'ghost'" in e.journal.events("skipped")[0]["reason"]


def test_progprompt_takes_what_cannot_be_evaluated_for_false_and_says_so():
    """Neither a reply that says nothing nor a condition of unknown form ends the task."""

    def unclear(world):
        raise ParseError("the reply 'maybe' says neither True nor False")

    e, _, body = run(ProgPrompt(), texts=[PROGRAM], checks={"'hands' is 'empty'": unclear})
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"] and e.corrections == 1
    note = e.journal.events("assertion")[0]
    assert (note["holds"], note["source"]) == (False, "none") and "neither True nor False" in note["note"]


def test_progprompt_asks_the_model_for_every_assertion_as_in_the_paper():
    checks = {"assert('hands' is 'empty')": lambda w: True}
    e, planner, _ = run(ProgPrompt(paper=True, examples=2), texts=[PROGRAM], checks=checks)
    assert asked(planner, "check") == [("check", "assert('hands' is 'empty')")]
    assert asked(planner, "write")[0][5] == {"comments": True, "assertions": True, "examples": 2, "state": False}


def test_progprompt_asserts_about_the_thing_that_it_acts_on():
    """Of two mugs the second was used: an assertion about "mug" is about that one, and so is the next action."""
    world = tabletop(
        "mug_1 mug_2 b: item; left_tray: container; table: location", "at(mug_1, table); in(mug_2, left_tray)"
    )
    kinds = {"mug_1": "mug", "mug_2": "mug"}
    world = replace(world, objects=tuple(replace(o, class_name=kinds.get(o.name, o.name)) for o in world.objects))
    lines = ["grasp('mug_2')", "assert('mug' at 'table')", "else: place_at('mug', 'table')", "grasp('mug')"]
    text = "def t():\n" + "\n".join("    " + line for line in lines)
    checks = {"'mug_2' at 'table'": lambda w: w.holds(Literal.parse("at(mug_2, table)"))}
    _, planner, body = run(ProgPrompt(), world=world, texts=[text], checks=checks)
    assert body.done == ["grasp(mug_2)", "place_at(mug_2, table)", "grasp(mug_2)"]


@pytest.mark.parametrize("text", ["def t():\n    import os", "sorry", "def t():\n    open('a').read()"])
def test_progprompt_runs_nothing_of_a_bad_program(text):
    planner = ScriptedPlanner(texts=[text])
    body = SymbolicBody(tabletop(OBJECTS, FACTS))
    e = Episode("t", "do it", (), Domain.load("tabletop"), planner, body, Journal())
    with pytest.raises(ParseError):
        ProgPrompt().run(e)
    assert body.done == []


def test_blocking_resolves_what_blocks():
    e, planner, body = run(Blocking(), choices=["place_in(a, left_tray)", "grasp(a)", "place_in(a, left_tray)"])
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"]
    first = asked(planner, "select")[0]
    assert set(first[2]) == {"place_in(a, left_tray)", "grab_and_putin(a, left_tray)"}
    assert all(row[1] == "blocking" for row in asked(planner, "select"))


def test_blocking_clears_what_stands_on_top():
    world = tabletop("a b: item; left_tray: container; table: location", "on(b, a); at(a, table)")
    body = SymbolicBody(world)
    planner = ScriptedPlanner()
    planner.select_action = lambda method, s, w, h, options, **more: _first_useful(options)
    e = Episode("t", "do it", literals("in(a, left_tray)"), Domain.load("tabletop"), planner, body, Journal())
    Blocking().run(e)
    assert body.world.holds(Literal.parse("in(a, left_tray)")) and e.steps < 15


def _first_useful(options):
    from planweave.core.workflow.ports import Choice

    order = ["grasp(b)", "place_at(b, table)", "grasp(a)", "place_in(a, left_tray)"]
    names = [str(o) for o in options]
    index = next((names.index(x) for x in order if x in names), 0)
    return Choice(index, ())


def test_blocking_asks_again_where_the_answer_is_not_in_the_list():
    bad = ParseError("'fly(a)' is not in the list")
    e, planner, body = run(Blocking(), choices=[bad, "grab_and_putin(a, left_tray)"])
    assert body.done == ["grab_and_putin(a, left_tray)"]
    assert "not in the list" in asked(planner, "select")[1][3][-1]


def test_blocking_offers_nothing_twice_with_nothing_changed():
    faults = {"grab_and_putin(a, left_tray)": [(Code.NO_GRASP, "empty")] * 9}
    choices = ["grab_and_putin(a, left_tray)", "place_in(a, left_tray)"]
    _, planner, body = run(Blocking(), faults=faults, choices=choices)
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"]
    assert [row[2] for row in asked(planner, "select")][1] == ("place_in(a, left_tray)", "grab_and_putin(a, left_tray)")


def test_scene_aware_ranks_by_the_weighted_sum_and_stops_below_the_cutoff():
    rows = [
        [c(PLACE, match=0.2, object_match=0.3), c(GRASP, match=0.9, object_match=1.0)],
        [c(GRASP, match=0.95, object_match=1.0), c(PLACE, match=0.9, object_match=1.0)],
        [c(GRASP, match=0.2, object_match=0.2)],
    ]
    e, _, body = run(SceneAware(), steps=rows)
    assert body.done == ["grasp(a)", "place_in(a, left_tray)"]  # the repetition of grasp is penalised
    assert e.journal.events("scored")[-1]["score"] < 1.0


def test_scene_aware_prefers_near_objects_of_the_same_looks():
    world = tabletop("cup_1 cup_2: item; left_tray: container; table: location", "at(cup_1, table)")
    spots = {"cup_1": (2.0, 0.0, 0.0), "cup_2": (0.1, 0.0, 0.0), "left_tray": (0.0, 0.0, 0.0)}
    objects = tuple(replace(o, position=spots.get(o.name)) for o in world.objects)
    world = replace(world, objects=objects)
    rows = [
        [c(Action.parse("grab_and_putin(cup_2, left_tray)"))],
        [c(Action.parse("grasp(cup_1)")), c(Action.parse("grasp(cup_2)"))],
        [c(END)],
    ]
    _, _, body = run(SceneAware(), world=world, goal="holding(cup_2)", steps=rows)
    assert body.done[-1] == "grasp(cup_2)"
