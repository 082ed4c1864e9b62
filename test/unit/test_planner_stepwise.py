"""Plans written step by step out of what can be done then: what is asked, when it ends, and who is asked so."""

import json
import threading
from dataclasses import replace

import pytest
from codes import raises_code
from doubles.method_runs import HOME, HomeBody
from doubles.planner_worlds import BLOCKS, FRUIT

import planweave as pw
from planweave.core.base.errors import CanceledError, ModelError, ModelUnavailableError
from planweave.core.base.usage import Usage
from planweave.core.checks.validation import Validator
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal
from planweave.core.workflow.question import AmbiguityError
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply
from planweave.methods.language.planner import LanguagePlanner, PlannerSettings

SENTENCE = "put the red cube in the left tray"
PLAN = ("grasp(red_cube)", "place_in(red_cube, left_tray)")
FEW = PlannerSettings(samples_embedded=3, exclude_actions=("grab_and_putin",))


class Chooser:
    """A client that can be held to choices; takes the wished ones in turn, the first where none is wished."""

    endpoint, model = "embedded", "chooser"

    def __init__(self, *wishes, error=None, choices=True, only_steps=False):
        self.wishes, self.error, self.requests = list(wishes), error, []
        self.capabilities = Capabilities(True, True, True, choices=choices, only_steps=only_steps)

    def close(self):
        pass

    def complete(self, request):
        self.requests.append(request)
        request.check()
        if self.error:
            raise self.error
        if not request.choices:
            return ChatReplies((ChatReply(json.dumps({"plan": list(PLAN)})),) * request.n, Usage(1, 10))
        wish = self.wishes.pop(0) if self.wishes else request.choices[0].strip(" ;")
        text = next(c for c in request.choices if c.strip(" ;") == wish)
        return ChatReplies((ChatReply(text, logprob=-0.5, tokens=10),), Usage(1, 100, 90, 10))


def asked(client, settings=FEW):
    return LanguagePlanner(client, settings)


def test_a_plan_ends_where_its_goal_is_reached_and_no_second_is_asked_for():
    client = Chooser(*PLAN)
    got = asked(client).generate_plans(SENTENCE, BLOCKS)
    assert [str(plan) for plan in got.plans] == ["; ".join(PLAN)]
    assert (got.received, got.dropped, got.plans[0].samples, got.plans[0].logprob) == (1, 0, 1, -1.0)
    assert (got.usage.requests, got.usage.cached_tokens) == (2, 180)
    assert [r.temperature for r in client.requests] == [0.0, 0.0] and all(r.n == 1 for r in client.requests)


def test_every_step_is_chosen_among_all_actions_that_can_be_done_then():
    client, domain = Chooser(*PLAN), Domain.load("tabletop")
    asked(client).generate_plans(SENTENCE, BLOCKS)
    transition = Transition(domain, BLOCKS)
    state = transition.state()
    for request, step in zip(client.requests, PLAN):
        offered = [Action.parse(choice.strip(" ;")) for choice in request.choices]
        assert all(not transition.unmet(state, action) for action in offered)
        assert Action.parse(step) in offered and len(offered) > 3
        transition.apply(state, Action.parse(step))
    first, second = ({c.strip(" ;") for c in r.choices} for r in client.requests)
    assert "grasp(green_cube)" in first and "grasp(blue_cube)" not in first, "the banana stands on it"
    assert {"place_in(red_cube, right_tray)", "place_on(red_cube, plate)"} <= second


def test_a_prompt_is_short_and_begins_alike_for_all_tasks():
    client = Chooser(*PLAN, "grasp(mug)", "place_in(mug, box)")
    planner = asked(client)
    planner.generate_plans(SENTENCE, BLOCKS)
    planner.generate_plans("put the mug in the box", FRUIT)
    first, second, third = (client.requests[i] for i in (0, 1, 2))
    assert first.messages == second.messages and (first.beginning, second.beginning) == ("", "grasp(red_cube);")
    assert first.messages[:-1] == third.messages[:-1]
    assert first.messages[-1]["content"] == "Task: put the red cube in the left tray (red_cube in left_tray)"
    assert sum(len(m["content"]) for m in first.messages) < 900, "read in about a second by a small model on one core"
    assert first.messages[1]["content"] == "Task: Put the lemon in the white basket (lemon in white_basket)"


def test_a_plan_that_goes_astray_ends_there_and_the_next_keeps_to_the_goals_things():
    client = Chooser("grasp(green_cube)", "place_on(red_cube, green_cube)", "place_in(red_cube, left_tray)")
    got = asked(client).generate_plans(SENTENCE, BLOCKS)
    assert str(got.plans[0]) == "grasp(green_cube)"
    # The only action on the goal's things is taken without asking; on the cube nothing can be done any more.
    assert [str(plan) for plan in got.plans[1:]] == ["grasp(red_cube); place_on(red_cube, green_cube)", "; ".join(PLAN)]
    assert [r.temperature for r in client.requests] == [0.0, FEW.temperature, FEW.temperature]
    assert len(client.requests[1].choices) > 3


def test_what_lies_on_a_thing_of_the_goal_may_be_moved():
    client = Chooser("grasp(banana)", "place_on(banana, plate)", "grasp(blue_cube)", "place_in(blue_cube, left_tray)")
    got = asked(client).generate_plans("put the blue cube in the left tray", BLOCKS)
    check = Validator(Domain.load("tabletop"), BLOCKS).check(
        got.plans[0].actions, [Literal.parse("in(blue_cube, left_tray)")]
    )
    assert check.ok and got.received == 1


def test_it_gives_up_after_the_set_number_of_plans_of_the_set_length():
    settings = replace(FEW, samples_embedded=2, max_steps_embedded=3)
    client = Chooser("grasp(red_cube)", "place_on(red_cube, plate)", "grasp(green_cube)", "place_on(red_cube, plate)")
    got = asked(client, settings).generate_plans(SENTENCE, BLOCKS)
    assert got.received == 2 and all(len(plan.steps) <= 3 for plan in got.plans)


def test_it_asks_for_no_further_step_after_the_set_seconds(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("planweave.methods.language.stepwise.time.monotonic", lambda: now[0])

    class Slow(Chooser):
        def complete(self, request):
            now[0] += 15.0
            return super().complete(replace(request, deadline=float("inf")))

    client = Slow("grasp(red_cube)", "place_on(red_cube, plate)", "grasp(green_cube)")
    got = asked(client, replace(FEW, sampling_seconds_embedded=29.0)).generate_plans(SENTENCE, BLOCKS)
    assert len(client.requests) == 3 and got.received == 1, "the seconds count from the first answer"


@pytest.mark.parametrize("error", [ModelUnavailableError("gone"), CanceledError("cancelled")])
def test_an_error_of_the_model_is_the_callers(error):
    with pytest.raises(type(error)) as caught:
        asked(Chooser(error=error)).generate_plans(SENTENCE, BLOCKS)
    assert isinstance(caught.value, ModelError | CanceledError)


def test_it_is_cancelled_between_steps():
    canceled = threading.Event()

    class Canceling(Chooser):
        def complete(self, request):
            reply = super().complete(request)
            canceled.set()
            return reply

    with pytest.raises(CanceledError):
        asked(Canceling(*PLAN)).generate_plans(SENTENCE, BLOCKS, canceled=canceled)


@pytest.mark.parametrize(
    ("client", "settings", "sentence", "method"),
    [
        (Chooser(choices=False), FEW, SENTENCE, "tree_planner"),
        (Chooser(), replace(FEW, sampling="request"), SENTENCE, "tree_planner"),
        (Chooser(), FEW, "the reddest of all cubes longs for a tray, does it not", "tree_planner"),
        (Chooser(), FEW, SENTENCE, "base_llm"),
    ],
)
def test_all_plans_are_asked_for_at_once_as_the_paper_does(client, settings, sentence, method):
    got = asked(client, settings).generate_plans(sentence, BLOCKS, method=method)
    assert len(client.requests) == 1 and client.requests[0].n == settings.samples_embedded and not got.dropped
    assert "choices" not in client.requests[0].as_dict(), "recorded questions stay as they are"


def test_domains_and_their_words_are_read_before_the_first_sentence():
    """And a world in which the sentence names nothing is no reason to complain."""
    from planweave.goals import lexicon

    lexicon._lexicon.cache_clear()
    client = Chooser()
    asked(client).prepare(["household", "tabletop"])
    assert lexicon._lexicon.cache_info().currsize == 2 and not client.requests


def test_stepwise_sampling_of_an_endpoint_that_cannot_is_refused():
    with raises_code("configuration", "sampling: stepwise"):
        asked(Chooser(choices=False), replace(FEW, sampling="stepwise"))


def test_there_are_no_other_plans_than_those_written_until_the_goal():
    client = Chooser(*PLAN)
    again = asked(client).generate_plans(SENTENCE, BLOCKS, errors=["grasp(red_cube): it slipped"])
    assert (again.plans, again.received, client.requests) == ((), 0, [])


# A model that is too weak for anything but steps


@pytest.mark.parametrize(
    "ask",
    [
        lambda p: p.generate_plans("put all cubes in the left tray", BLOCKS),
        lambda p: p.generate_plans("move the green cube to the left side", BLOCKS),
        lambda p: p.generate_plans("the reddest of all cubes longs for a tray, does it not", BLOCKS),
        lambda p: p.generate_plans("put the salmon in the fridge", HomeBody().observe()),
        lambda p: p.generate_plans(SENTENCE, BLOCKS, method="tree_planner_request"),
        lambda p: p.generate_plans(SENTENCE, BLOCKS, method="base_llm"),
        lambda p: p.choose_action(SENTENCE, BLOCKS, [], [Action.parse(step) for step in PLAN]),
        lambda p: p.write("progprompt", SENTENCE, BLOCKS),
        lambda p: p.ground_step("brainbody", SENTENCE, "take it", BLOCKS),
        lambda p: p.propose_steps("iterative", SENTENCE, BLOCKS, []),
        lambda p: p.propose_steps("zero_shot", SENTENCE, BLOCKS, []),
        lambda p: p.select_action("blocking", SENTENCE, BLOCKS, [], [Action.parse(step) for step in PLAN]),
        lambda p: p.check_condition("assert('cube' in 'tray')", BLOCKS),
    ],
)
def test_a_weak_model_is_not_asked_what_it_was_not_measured_to_answer(ask):
    client = Chooser(only_steps=True)
    with raises_code("no_model", "OPENAI_BASE_URL"):
        ask(asked(client))
    assert not client.requests


@pytest.mark.parametrize(
    ("sentence", "unknown"), [("serve me something sweet", "serve"), ("build a little house out of the cubes", "house")]
)
def test_a_weak_model_reads_no_sentences(sentence, unknown):
    client = Chooser(only_steps=True)
    with raises_code("goal", f"'{unknown}'", "OPENAI_BASE_URL") as refused:
        asked(client).interpret_goal(sentence, BLOCKS)
    assert not isinstance(refused.value, AmbiguityError) and not client.requests, "nobody is asked about guesses"


@pytest.mark.parametrize("sentence", [SENTENCE, "put the red cube in the left tray and the banana on the plate"])
def test_a_weak_model_plans_moves_of_one_or_two_things(sentence):
    client = Chooser(*PLAN, "grasp(banana)", "place_on(banana, plate)", only_steps=True)
    assert asked(client).generate_plans(sentence, BLOCKS).plans and client.requests


def test_a_weak_model_is_asked_everything_where_it_is_to_be_measured():
    client = Chooser(only_steps=True)
    assert asked(client, replace(FEW, only_measured=False)).generate_plans(SENTENCE, BLOCKS, method="base_llm").plans


def home_task(client, **options):
    return pw.run("put the salmon in the fridge", body=pw.Home(HOME), model=client, **options)


def test_without_a_capable_model_classical_is_the_default_and_says_so():
    client = Chooser(only_steps=True)
    done = home_task(client)
    assert done.success and (done.status.method, done.status.fallback) == ("classical", False)
    assert "OPENAI_BASE_URL" in done.message and not client.requests and done.usage.requests == 0
    assert [e["kind"] for e in done.record if e["event"] == "method_failed"] == ["NoModelError"]
    assert home_task(Chooser(only_steps=True), fallback="").success, "it is the default, no fallback"
    assert home_task("none").status.method == "classical"


def test_a_method_that_was_named_is_not_exchanged():
    done = home_task(Chooser(only_steps=True), method="brainbody")
    assert (done.status.method, done.status.fallback) == ("brainbody", True)
    alone = home_task(Chooser(only_steps=True), method="tree_planner", fallback="")
    assert not alone.success and "OPENAI_BASE_URL" in alone.message
