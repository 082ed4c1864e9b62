"""planner_node over DDS, with a fake endpoint on loopback in place of a model."""

import json

import pytest
from codes import raises_code
from doubles import fake_openai as fake
from doubles.fake_openai import FakeOpenAI
from doubles.planner_worlds import BLOCKS, FRUIT
from planweave_interfaces.action import ChooseAction, GeneratePlans, ProposeSteps, WritePlan
from planweave_interfaces.srv import CheckCondition, GroundStep, InterpretGoal
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

from planner_node.node import PlannerNode
from planweave.core.symbolic.world import Action
from planweave.llm.clients.none import NoClient
from planweave.llm.clients.openai_client import OpenAIClient
from planweave.methods.language.planner import LanguagePlanner
from planweave_ros import conversions as convert
from planweave_ros.rclpy_compat import ThreadSafeActionClient

KEY = "sk-secret-24680"
SENTENCE = "put the red cube in the left tray"
GOOD = '{"plan": ["grasp(red_cube)", "place_in(red_cube, left_tray)"]}'
OPTIONS = [Action.parse("place_in(red_cube, left_tray)"), Action.parse("place_on(red_cube, plate)"), None]


class Asker(Node):
    """Asks a planner node as feedback_node does. Action clients must be made before the node is spun: rclpy's executor
    may otherwise meet a half-made one, and end."""

    def __init__(self):
        super().__init__("asker")
        self.exchanges, self.feedback = [], []
        self.plans = ThreadSafeActionClient(self, GeneratePlans, "/generate_plans")
        self.choices = ThreadSafeActionClient(self, ChooseAction, "/choose_action")
        self.steps = ThreadSafeActionClient(self, ProposeSteps, "/propose_steps")
        self.texts = ThreadSafeActionClient(self, WritePlan, "/write_plan")
        self.goals = self.create_client(InterpretGoal, "/interpret_goal")
        self.commands = self.create_client(GroundStep, "/ground_step")
        self.conditions = self.create_client(CheckCondition, "/check_condition")
        self.create_subscription(String, "/llm_exchanges", self._hear, 100)

    def connect(self, spin_until):
        self.spin_until = spin_until
        for client in (self.plans, self.choices, self.steps, self.texts):
            assert client.wait_for_server(timeout_sec=60.0)
        for client in (self.goals, self.commands, self.conditions):
            assert client.wait_for_service(timeout_sec=60.0)
        spin_until(lambda: self.count_publishers("/llm_exchanges"), 20.0, "the exchanges' publisher")
        return self

    def _hear(self, msg):
        self.exchanges.append(json.loads(msg.data))

    def wait(self, future, what, seconds=60.0):
        self.spin_until(future.done, seconds, what)
        return future.result()

    def send(self, client, goal):
        handle = self.wait(client.send_goal_async(goal, feedback_callback=self.feedback.append), "acceptance")
        assert handle.accepted
        return handle

    def sample(self, sentence=SENTENCE, world=BLOCKS, **fields):
        goal = GeneratePlans.Goal(sentence=sentence, world=convert.world_to_msg(world), temperature=-1.0, **fields)
        return self.wait(self.send(self.plans, goal).get_result_async(), "plans").result

    def choose(self, options=OPTIONS, **fields):
        goal = ChooseAction.Goal(
            sentence=SENTENCE,
            world=convert.world_to_msg(BLOCKS),
            temperature=-1.0,
            options=[convert.action_to_msg(o) for o in options],
            **fields,
        )
        return self.wait(self.send(self.choices, goal).get_result_async(), "a choice").result

    def interpret(self, sentence, world=BLOCKS):
        request = InterpretGoal.Request(sentence=sentence, world=convert.world_to_msg(world))
        return self.wait(self.goals.call_async(request), "a goal")

    def call(self, client, request, world=BLOCKS):
        request.world = convert.world_to_msg(world)
        return self.wait(client.call_async(request), "an answer")

    def finish(self, client, goal, world=BLOCKS):
        goal.world = convert.world_to_msg(world)
        return self.wait(self.send(client, goal).get_result_async(), "a result").result


@pytest.fixture
def start(make_node, spin_until):
    """start(behaviour, parameter=value, …) -> (asker, server): a planner node that asks a fake endpoint."""
    servers = []

    def make(behave, **parameters):
        server = FakeOpenAI(behave).__enter__()
        servers.append(server)
        overrides = [Parameter(name, value=value) for name, value in {"timeout": 60.0, **parameters}.items()]
        make_node(PlannerNode, OpenAIClient(server.url, KEY, "fake", attempts=2), parameter_overrides=overrides)
        return make_node(Asker).connect(spin_until), server

    yield make
    for server in servers:
        server.__exit__()


def test_plans_choices_and_goals(start, spin_until):
    def behave(server, body, number):
        choice = "choice" in body["response_format"]["json_schema"]["schema"]["properties"]
        return (
            fake.answers("B", "A", "B" if choice else GOOD)(server, body, number)
            if choice
            else fake.answers(GOOD, GOOD, "1. pick_up(red cube)\n2. put_in(red_cube, left_tray)", "no")(
                server, body, number
            )
        )

    asker, server = start(behave, exclude_actions=["grab_and_putin"])
    got = asker.sample(task_id="t1", samples=4)
    assert got.success and (got.received, got.dropped, got.mended) == (4, 1, 1), got.message
    (plan,) = [convert.plan_from_msg(p) for p in got.plans]
    assert str(plan) == "grasp(red_cube); place_in(red_cube, left_tray)" and plan.samples == 3
    assert plan.logprob == pytest.approx(-1.0)
    assert (got.usage.requests, got.usage.model, got.usage.endpoint) == (1, "fake", server.url)
    assert [f.feedback.received for f in asker.feedback] == [4]
    assert "grab_and_putin" not in json.dumps(server.requests[0])

    got = asker.choose(task_id="t1", samples=3, errors=["grasp(red_cube): it slipped"])
    assert got.success and (got.choice, list(got.votes)) == (1, [1, 2, 0])
    assert "it slipped" in server.requests[1]["messages"][-1]["content"]

    got = asker.interpret("put the fruit on the plate", FRUIT)
    assert got.success and got.source == "grammar" and got.usage.requests == 0 and len(server.requests) == 2
    assert {str(g) for g in convert.literals_from_msg(got.goal)} == {
        f"on({fruit}, plate)" for fruit in ("banana", "pear", "orange", "apple")
    }

    spin_until(lambda: len(asker.exchanges) == 2, 10.0, "both exchanges")
    assert [(e["task_id"], e["kind"]) for e in asker.exchanges] == [("t1", "plans"), ("t1", "choice")]
    assert KEY not in json.dumps(asker.exchanges)


def test_a_goal_by_model_says_so(start):
    asker, _ = start(
        fake.answers('{"goal": ["on(banana, plate)"], "words": ["serve = on", "something sweet = banana"]}')
    )
    got = asker.interpret("serve me something sweet")
    assert got.success and got.source == "model" and got.usage.requests == 1


@pytest.mark.parametrize(
    ("behave", "codes"),
    [
        (fake.fails(401, f"Incorrect API key provided: {KEY}"), {"model_key"}),
        (fake.fails(503, "overloaded", headers={"Retry-After": "0"}), {"model_unavailable"}),
        (fake.says(b"<html>"), {"model_answer"}),
        (fake.answers("I would rather not."), {"unreadable_reply"}),
        (fake.dies, {"model_unavailable"}),
        (fake.dribbles, {"model_timeout"}),
        (fake.floods, {"model_answer", "model_timeout"}),  # a busy machine may not take it all in time
    ],
    ids=["wrong key", "overloaded", "not JSON", "no plan", "dies", "never ends", "floods"],
)
def test_a_bad_endpoint_becomes_a_message_and_the_node_lives_on(start, behave, codes):
    broken = [True]
    asker, _ = start(lambda *a: behave(*a) if broken[0] else fake.answers(GOOD)(*a), timeout=1.5)
    got = asker.sample()
    assert not got.success and got.code in codes and KEY not in got.message
    broken[0] = False
    assert asker.sample().success


@pytest.mark.parametrize(
    ("sentence", "code", "datum"),
    [
        ("", "goal", ""),
        ("put the cube " * 1000, "goal", "12999"),
        ("put the mug in the left tray", "ambiguous", "'mug'"),
        ("put the red cube in the left tray and in(", "goal", ""),
        ("in(red_cube, left_tray) and in(red_cube, right_tray)", "goal", "in(red_cube, right_tray)"),
    ],
)
def test_bad_sentences_become_a_message(start, sentence, code, datum):
    asker, _ = start(fake.fails(401))
    got = asker.interpret(sentence)
    assert (got.success, got.code) == (False, code) and datum in got.message and not got.goal


def test_an_unknown_domain_becomes_a_message(start):
    asker, _ = start(fake.answers(GOOD))
    world = BLOCKS.__class__("workshop", BLOCKS.objects, BLOCKS.facts)
    for got in (asker.sample(world=world), asker.interpret(SENTENCE, world)):
        assert (got.success, got.code) == (False, "unknown_name") and "'workshop'" in got.message
    assert not asker.choose(options=[]).success


def test_cancelling_ends_a_waiting_question_while_others_are_served(start):
    asker, server = start(
        lambda f, b, n: fake.stalls(f, b, n) if n == 1 else (200, fake.completion([GOOD])), timeout=60.0
    )
    goal = GeneratePlans.Goal(sentence=SENTENCE, world=convert.world_to_msg(BLOCKS), temperature=-1.0, samples=1)
    handle = asker.send(asker.plans, goal)
    asker.spin_until(lambda: server.requests, 10.0, "the question")
    assert asker.interpret(SENTENCE).success, "a question that waits blocks the others"
    assert asker.sample(samples=1).success
    asker.wait(handle.cancel_goal_async(), "the cancellation")
    ended = asker.wait(handle.get_result_async(), "the end")
    assert (ended.status, ended.result.code) == (5, "canceled")  # GoalStatus.STATUS_CANCELED, and no model_timeout


def test_every_method_is_served(start, spin_until):
    """Programs, plans in words, commands, proposals, selections, conditions, and plans of another method."""
    texts = {
        "You complete Python": "    grab_and_putin('red_cube', 'left_tray')",
        "name one at a time": '{"action": "end"}',
        "You control a robot": "<rob0>[grasp] <red_cube>",
        "in command of a robot": "It slipped.\n1: pick it up",
        "You help me": "$$ place_in red_cube left_tray $$",
        "an assertion": "True",
        "straight into": GOOD,
        "You continue plans": "Pick up the red cube",
    }

    def behave(server, body, number):
        system = body["messages"][0]["content"]
        return fake.answers(next(t for key, t in texts.items() if key in system))(server, body, number)

    asker, server = start(behave, exclude_actions=["grab_and_putin"], proposals=3)
    got = asker.finish(asker.texts, WritePlan.Goal(method="progprompt", sentence=SENTENCE, options=["comments=false"]))
    assert got.success and got.lines[-1] == "    grab_and_putin('red_cube', 'left_tray')", got.message
    assert "# 1:" not in server.requests[0]["messages"][1]["content"] and got.usage.requests == 1
    got = asker.finish(
        asker.texts,
        WritePlan.Goal(
            method="brainbody_feedback",
            sentence=SENTENCE,
            start=1,
            history=["look", "pick it up"],
            errors=["grasp(x): no"],
        ),
    )
    assert (list(got.lines), got.explanation) == (["pick it up"], "It slipped.")
    got = asker.finish(asker.steps, ProposeSteps.Goal(method="iterative", sentence=SENTENCE, samples=1))
    assert got.success and [c.action.name for c in got.candidates] == [""]
    got = asker.finish(asker.steps, ProposeSteps.Goal(method="scene_aware", sentence=SENTENCE))
    assert [c.action.name for c in got.candidates] == ["grasp"] * 3 and server.requests[-1]["n"] == 3
    assert got.candidates[0].match == 1.0 and got.candidates[0].has_logprob and got.candidates[0].logprob == -0.5
    got = asker.call(asker.commands, GroundStep.Request(method="brainbody", sentence=SENTENCE, step="take it"))
    assert got.success and not got.passed and convert.action_from_msg(got.action) == Action("grasp", ("red_cube",))
    got = asker.call(
        asker.commands, GroundStep.Request(method="lang_prompt", sentence=SENTENCE, step="take the red cube")
    )
    assert got.action.name == "grasp" and got.usage.requests == 0
    got = asker.choose(OPTIONS[:2], method="blocking")
    assert got.success and (got.choice, list(got.votes)) == (0, [1, 0])
    got = asker.call(asker.conditions, CheckCondition.Request(condition="'banana' on 'blue_cube'"))
    assert (got.success, got.holds, got.source) == (True, True, "rule")
    got = asker.call(asker.conditions, CheckCondition.Request(condition="'banana' with 'plate'"))
    assert (got.success, got.holds, got.source) == (True, True, "model")
    assert asker.sample(method="base_llm", samples=1).success
    kinds = ["program", "brain_feedback", "step", "proposals", "command", "selection", "condition", "plans"]
    spin_until(lambda: len(asker.exchanges) == len(kinds), 10.0, "all exchanges")
    assert [e["kind"] for e in asker.exchanges] == kinds
    assert asker.exchanges[3]["relatedness"] == "cosine of embeddings"


def test_what_the_methods_cannot_use_is_said(start):
    asker, _ = start(fake.answers("sorry"))
    for method, code in (
        ("magic", "unknown_name"),
        ("progprompt", "unreadable_reply"),
        ("brainbody", "unreadable_reply"),
    ):
        got = asker.finish(asker.texts, WritePlan.Goal(method=method, sentence=SENTENCE))
        assert (got.success, got.code) == (False, code)
        asked = {"magic": 0, "progprompt": 2, "brainbody": 2}  # a reply of no use costs as well, and is asked for again
        assert got.usage.requests == asked[method]
    got = asker.finish(asker.texts, WritePlan.Goal(method="progprompt", sentence=SENTENCE, options=["comments=maybe"]))
    assert not got.success and "comments=maybe" in got.message
    for method, code in (("magic", "unknown_name"), ("iterative", "unreadable_reply")):
        got = asker.finish(asker.steps, ProposeSteps.Goal(method=method, sentence=SENTENCE, samples=1))
        assert (got.success, got.code) == (False, code)
    got = asker.choose(OPTIONS[:2], method="blocking")
    assert not got.success and got.unreadable == 1 and "$$" in got.message and got.usage.requests == 1
    assert asker.choose(method="magic").code == asker.sample(method="magic").code == "unknown_name"
    got = asker.call(asker.commands, GroundStep.Request(method="brainbody", sentence=SENTENCE, step="take it"))
    assert (got.success, got.code) == (False, "unreadable_reply")
    got = asker.call(asker.conditions, CheckCondition.Request(condition="ready('banana')"))
    assert (got.success, got.code, got.usage.requests) == (False, "unreadable_reply", 2)
    got = asker.interpret("serve me something sweet")
    assert not got.success and not got.goal and got.usage.requests == 2 and got.usage.prompt_tokens > 0
    got = asker.call(asker.conditions, CheckCondition.Request(condition=""))
    assert (got.success, got.code) == (False, "unreadable_reply")


def test_a_task_has_a_budget(start):
    asker, _ = start(fake.answers(GOOD), budget_requests=1)
    assert asker.sample(task_id="t").success
    got = asker.sample(task_id="t")
    assert (got.success, got.code) == (False, "model_budget") and "budget_requests" in got.message
    assert asker.sample(task_id="other").success


def test_without_a_model_goals_are_still_read(make_node, spin_until):
    make_node(PlannerNode, NoClient("the wheel is missing"))
    asker = make_node(Asker).connect(spin_until)
    assert asker.interpret(SENTENCE).success
    assert asker.sample().code == "no_model"


@pytest.mark.parametrize(
    ("parameter", "value", "datum"),
    [
        ("client", "opneai", "'openai'"),
        ("temperature", 9.0, "temperature"),
        ("samples", "many", "samples"),
        ("embedding", "bert", "embedding"),
        ("price_table", "/nowhere.yaml", "/nowhere.yaml"),
        ("cassette", "/nowhere.jsonl", "/nowhere.jsonl"),
    ],
)
def test_wrong_parameters_are_said_at_the_start(ros, parameter, value, datum):
    given = {parameter: value, **({"client": "replay"} if parameter == "cassette" else {})}
    with raises_code("configuration", datum):
        PlannerNode(parameter_overrides=[Parameter(n, value=v) for n, v in given.items()])


def test_a_fault_of_ours_is_told_as_one_and_ends_nothing(start, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    asker, _ = start(fake.answers(GOOD, GOOD, GOOD, GOOD))
    for method in ("generate_plans", "check_condition"):
        monkeypatch.setattr(LanguagePlanner, method, fail)
    told = asker.sample(), asker.call(asker.conditions, CheckCondition.Request(condition="'red_cube' in 'left_tray'"))
    assert [(reply.success, reply.code) for reply in told] == [(False, "internal")] * 2
    monkeypatch.undo()
    assert asker.sample().success
