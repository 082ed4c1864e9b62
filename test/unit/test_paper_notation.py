"""Prompts and replies of Tree-Planner and Iterative-Planner as in the paper's Appendix F (`paper: true`)."""

from doubles.planner_worlds import BLOCKS
from doubles.scripted_client import planner

from planweave.bodies.home.port import HomeBody
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.methods.language import paper_notation

HOUSEHOLD, TABLETOP = Domain.load("household"), Domain.load("tabletop")
SENTENCE = "put the red cube in the left tray"
FIND, PUT = Action.parse("find(mug_52)"), Action.parse("place_in(red_cube, left_tray)")


def text(messages):
    return "\n".join(m["content"] for m in messages)


def in_order(said, parts):
    places = [said.index(part) for part in parts]
    assert places == sorted(places), said


def test_a_sub_task_has_the_papers_form():
    assert paper_notation.sub_task(FIND) == "[FIND] <mug> (52)"
    assert paper_notation.sub_task(PUT) == "[PLACE_IN] <red_cube> <left_tray>"
    assert paper_notation.sub_task(Action("sleep")) == "[SLEEP]" and paper_notation.sub_task(None) == "[END]"


def test_the_prompt_for_plans_has_the_parts_of_appendix_f2_in_order():
    home = HomeBody("home_flat").observe()
    said = text(paper_notation.sample_messages(HOUSEHOLD, home, "watch tv", ("grab_and_putin",)))
    parts = [
        "You act as a task planner",
        "[FIND] <wine_glass> (1) and [GRAB] <wine_glass> (1).",
        "Actions with no object (form 1): [STANDUP], [SLEEP], [WAKEUP]",
        "Actions with one object (form 2): [WALK]",
        "You are in a house with these rooms: bathroom, bedroom, kitchen, living_room.",
        "Objects there: apple, banana",
        "You are in the",
        "Task: Put the wine glass in the kitchen cabinet\n[FIND] <wine_glass> (1)\n[GRAB] <wine_glass> (1)",
        "Task: watch tv",
    ]
    in_order(said, parts)
    assert "Needs:" not in said and "GRAB_AND_PUTIN" not in said
    told = said[said.index("Objects there") : said.index("Task: Put")]
    assert not any(o.name in told or o.name.replace("_", " ") in told for o in home.objects if o.name[-1].isdigit())


def test_plans_in_the_papers_notation_are_asked_for_without_a_schema_and_read():
    asked, client = planner("1. [GRASP] <red_cube>\n2. [PLACE_IN] <red_cube> <left_tray>\n3. [END]")
    sampled = asked.generate_plans(SENTENCE, BLOCKS, method="tree_planner_paper")
    assert sampled.plans[0].actions == (Action.parse("grasp(red_cube)"), PUT)
    request = client.questions[0]
    assert request.json_schema is None and "[PLACE_IN]" in text(request.messages)
    assert '{"plan"' not in text(request.messages)


def test_a_decision_has_the_parts_of_appendix_f3_in_order():
    asked, client = planner("B")
    options = [PUT, Action.parse("place_on(red_cube, plate)"), None]
    grasp = Action.parse("grasp(red_cube)")
    errors = ["place_in(red_cube, right_tray): it is\nout of reach", "nobody said: what"]
    got = asked.choose_action(SENTENCE, BLOCKS, [grasp], options, errors=errors, method="tree_planner_paper")
    assert got.index == 1 and client.questions[0].json_schema is None
    parts = [
        "You act as a home robot",
        "The banana is on the blue cube.",
        f"Your task is: {SENTENCE}",
        "[GRASP] <red_cube>",
        'The sub-task "[PLACE_IN] <red_cube> <right_tray>" caused an error: it is out of reach\nnobody said: what',
        "A. [PLACE_IN] <red_cube> <left_tray>\nB. [PLACE_ON] <red_cube> <plate>\nC. [END]",
        "The best choice is:",
    ]
    in_order(text(client.questions[0].messages), parts)


def test_the_next_step_is_asked_as_in_appendix_f1_and_its_end_is_read():
    error = "grasp(green_cube): it slipped"
    for reply, action in (("[GRASP] <red_cube>", "grasp(red_cube)"), ("[END]", None)):
        asked, client = planner(reply)
        got = asked.propose_steps("iterative_paper", SENTENCE, BLOCKS, [PUT], errors=[error], samples=1)
        assert got.candidates[0].action == (action and Action.parse(action))
        said = text(client.questions[0].messages)
        assert "reply [END]" in said and client.questions[0].json_schema is None
        assert said.endswith(
            f"Task: {SENTENCE}\n[PLACE_IN] <red_cube> <left_tray>\n"
            'The sub-task "[GRASP] <green_cube>" caused an error: it slipped'
        )
