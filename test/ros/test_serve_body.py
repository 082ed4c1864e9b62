"""serve_body over real DDS: what is the same for every body, by bodies that stop, that cannot, and that fail."""

import threading
import time

import pytest
from ros_fixtures import result_of

pytest.importorskip("planweave_interfaces")

from codes import raises_code
from doubles.scripted import SymbolicBody, tabletop
from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.msg import WorldState
from planweave_interfaces.srv import Look
from rclpy.parameter import Parameter

from body_node.node import BodyNode
from planweave.core.base.errors import PlanweaveError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action
from planweave.core.workflow.ports import Outcome
from planweave_ros import conversions as convert
from planweave_ros.guarded import GuardedNode
from planweave_ros.liveliness import COMMANDER, TASKS, show_own_presence
from planweave_ros.qos import TRANSIENT_LOCAL
from planweave_ros.serve_body import serve_body

WORLD = tabletop("a b: item; tray: container", "on(a, table); on(b, table)")


class Stoppable(SymbolicBody):
    """Acts until it is stopped, where `hold` is clear."""

    stopped = None

    def begin(self, timeout):
        self.stopped, self.timeout = None, timeout

    def stop(self, code, message):
        self.stopped = code, message
        self.hold.set()

    def execute(self, action, **options):
        outcome = super().execute(action, **options)
        return Outcome(*self.stopped, self.world) if self.stopped else outcome


@pytest.fixture
def serve(make_node):
    """serve(body, **options): a node that serves the body, and a client with what the tests call."""

    class Served:
        def __init__(self, body, **options):
            self.node = make_node(GuardedNode, "a_body")
            self.served = serve_body(self.node, body, **options)
            self.client = client = make_node("client")
            self.worlds, self.phases = [], []
            client.create_subscription(WorldState, "/world_state", lambda m: self.worlds.append(m), TRANSIENT_LOCAL)
            self.action = make_node.action_client(client, ExecuteAction, "/execute_action")
            assert self.action.wait_for_server(timeout_sec=60.0)
            self.looking = client.create_client(Look, "/look")
            assert self.looking.wait_for_service(60.0)

        def send(self, text, timeout=0.0, sender=b""):
            goal = ExecuteAction.Goal(timeout=timeout, sender=sender.hex())
            if text:
                goal.action = convert.action_to_msg(Action.parse(text))
            return result_of(self.action.send_goal_async(goal, feedback_callback=self.phases.append))

        def do(self, text, timeout=0.0, sender=b""):
            return result_of(self.send(text, timeout, sender).get_result_async()).result

    return Served


def test_actions_the_world_after_each_and_looks(serve, spin_until):
    body = SymbolicBody(WORLD)
    served = serve(body)
    spin_until(lambda: served.worlds, 5, "the first world")
    result = served.do("grasp(a)")
    assert Code(result.code) is Code.SUCCESS and body.done == ["grasp(a)"]
    spin_until(lambda: served.worlds[-1].revision == result.world.revision > 0, 5, "the world after the action")
    assert "holding(a)" in {str(f) for f in convert.world_from_msg(served.worlds[-1]).facts}
    refused = served.do("grasp(b)")
    assert Code(refused.code) is Code.PRECONDITION_UNMET and refused.unmet
    look = result_of(served.looking.call_async(Look.Request(timeout=1.0)))
    assert look.fresh and convert.time_from_msg(look.world.header.stamp) > 0
    assert served.served.report().message == "ready"


def test_one_action_at_a_time_and_a_cancelled_one_ends_with_its_reason(serve):
    body = Stoppable(WORLD)
    body.hold.clear()
    served = serve(body, name="the arm", timeout=30.0)
    handle = served.send("grasp(a)")
    assert body.began.wait(60.0) and served.served.busy_with == "grasp(a)" and body.timeout == 30.0
    busy = served.do("grasp(b)")
    assert Code(busy.code) is Code.CONTROL_FAILED and "grasp(a)" in busy.message
    result_of(handle.cancel_goal_async())
    ended = result_of(handle.get_result_async())
    assert (Code(ended.result.code), ended.status) == (Code.CANCELED, 5)  # STATUS_CANCELED
    assert ended.result.message == "the action was cancelled; the arm was stopped" and not body.done[1:]
    assert Code(served.do("grasp(b)", timeout=1e9).code) in (Code.SUCCESS, Code.PRECONDITION_UNMET)
    assert body.timeout == 3600.0, "no action takes longer"


def test_goals_of_strangers_do_not_delay_a_cancellation(serve, monkeypatch):
    """Each of them is looked at for as long as a feedback_node may take to be discovered."""
    monkeypatch.setattr("planweave_ros.permission.DEATH", 30.0)
    body = Stoppable(WORLD)
    body.hold.clear()
    served = serve(body)
    handle = served.send("grasp(a)")
    assert body.began.wait(60.0)
    strangers = [served.send("grasp(b)", sender=b"nobody") for _ in range(7)]
    ends = [stranger.get_result_async() for stranger in strangers]
    too_many = served.do("grasp(b)", sender=b"nobody")
    assert Code(too_many.code) is Code.CONTROL_FAILED and "wait already" in too_many.message
    result_of(handle.cancel_goal_async())
    assert Code(result_of(handle.get_result_async()).result.code) is Code.CANCELED
    assert not any(end.done() for end in ends)
    for stranger in strangers:
        stranger.cancel_goal_async()
    assert {result_of(end).status for end in ends} == {5}  # STATUS_CANCELED
    monkeypatch.setattr("planweave_ros.permission.DEATH", 0.0)
    result = served.do("grasp(b)", sender=b"nobody")
    assert Code(result.code) is Code.NOT_STARTED and b"nobody".hex() in result.message


def test_a_body_that_cannot_be_stopped_ends_its_action_first(serve):
    body = SymbolicBody(WORLD, faults={"grasp(a)": [(Code.NO_GRASP, "it slipped")]})
    body.hold.clear()
    served = serve(body)
    handle = served.send("grasp(a)")
    assert body.began.wait(60.0)
    result_of(handle.cancel_goal_async())
    body.hold.set()
    ended = result_of(handle.get_result_async())
    assert (Code(ended.result.code), ended.status) == (Code.NO_GRASP, 5)  # how it ended is told; STATUS_CANCELED
    assert Code(served.do("grasp(a)").code) is Code.SUCCESS


@pytest.mark.parametrize(
    ("text", "timeout", "code", "words"),
    [
        ("", 0.0, Code.INVALID_ACTION, "the goal names no action"),
        ("grasp(a)", float("nan"), Code.INVALID_ACTION, "timeout must be above 0 s, got nan"),
        ("grasp(a)", -1.0, Code.INVALID_ACTION, "timeout must be above 0 s, got -1"),
    ],
)
def test_a_goal_that_is_none_is_refused(serve, text, timeout, code, words):
    body = SymbolicBody(WORLD)
    result = serve(body).do(text, timeout)
    assert Code(result.code) is code and words in result.message and not body.done


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PlanweaveError("the gripper is unplugged"), "the gripper is unplugged"),
        (ZeroDivisionError("division by zero"), "a_body failed inside (ZeroDivisionError: division by zero)"),
    ],
)
def test_what_a_body_raises_ends_its_action_alone(serve, error, words):
    body = SymbolicBody(WORLD)
    served = serve(body)
    good = body.execute

    def fails(action, **_):
        raise error

    body.execute = fails
    result = served.do("grasp(a)")
    assert Code(result.code) is Code.CONTROL_FAILED and words in result.message
    body.execute = good
    assert Code(served.do("grasp(a)").code) is Code.SUCCESS


def test_what_is_in_the_way_is_said_and_nothing_moves(serve):
    body, why = SymbolicBody(WORLD), {"idle": "", "problem": ""}
    served = serve(body, why_idle=lambda: why["idle"], problem=lambda: why["problem"])
    why["idle"] = "it sleeps"
    result = served.do("grasp(a)")
    assert (Code(result.code), result.message) == (Code.NOT_STARTED, "nothing was moved: it sleeps")
    assert served.served.report().message == "it sleeps"
    why.update(idle="", problem="another body is there")
    result = served.do("grasp(a)")
    assert (Code(result.code), result.message) == (Code.NOT_STARTED, "another body is there; nothing was moved")
    why["problem"] = ""
    with served.served.reserved("a reset") as busy:
        assert not busy and "a reset" in served.do("grasp(a)").message
    assert not body.done and Code(served.do("grasp(a)").code) is Code.SUCCESS


def test_the_end_of_the_node_stops_what_runs_and_begins_nothing(serve):
    body = Stoppable(WORLD)
    body.hold.clear()
    served = serve(body)
    handle = served.send("grasp(a)")
    assert body.began.wait(60.0)
    served.served.end("the node was shut down")
    ended = result_of(handle.get_result_async()).result
    assert (Code(ended.code), ended.message) == (Code.SAFETY_STOP, "the node was shut down")
    assert Code(served.do("grasp(a)").code) is Code.NOT_STARTED and "grasp(a)" not in body.done[1:]


def test_an_action_that_begins_while_its_node_is_deactivated_is_stopped(serve):
    """The arm may have been aborted just before it begins, which forgets that."""

    class Deactivated(Stoppable):
        def begin(self, timeout):
            idle.append("it was deactivated")
            super().begin(timeout)

    idle: list[str] = []
    served = serve(Deactivated(WORLD), why_idle=lambda: "".join(idle))
    result = served.do("grasp(a)")
    assert (Code(result.code), result.message) == (Code.NOT_STARTED, "it was deactivated")


def test_an_action_whose_sender_goes_while_it_waits_does_not_begin(serve, announce, spin_until):
    body, waits, goes = SymbolicBody(WORLD), threading.Event(), threading.Event()
    served = serve(body, before_action=lambda given_up: waits.set() or goes.wait(60.0))
    presence = served.served._commander
    _, end = announce("feedback_node", COMMANDER)
    spin_until(lambda: presence.count == 1, 20, "the commander")
    ended = served.send("grasp(a)").get_result_async()
    assert waits.wait(60.0)
    end()
    spin_until(lambda: presence.departures == 1, 20, "its departure")
    goes.set()
    result = result_of(ended).result
    assert Code(result.code) is Code.NOT_STARTED and "feedback_node" in result.message and not body.done
    assert Code(served.do("grasp(a)").code) is Code.SUCCESS, "one that was sent afterwards"


def test_a_second_body_is_refused(serve, make_node):
    serve(SymbolicBody(WORLD))
    with raises_code("configuration", "a_body", "/world_state"):
        serve_body(make_node("another_body"), SymbolicBody(WORLD), since=time.monotonic())


def test_body_node_serves_an_installed_body_by_its_name(make_node, spin_until):
    with raises_code("unknown_name", "'hoem'", "'home'"):
        make_node(BodyNode, [Parameter("body", value="hoem")])
    make_node(BodyNode, [Parameter("body", value="home")])
    worlds = []
    make_node("viewer").create_subscription(WorldState, "/world_state", worlds.append, TRANSIENT_LOCAL)
    spin_until(lambda: worlds, 20, "the world")
    assert worlds[0].domain == "household"


def test_an_action_against_a_rule_is_refused_whoever_sends_it(serve, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("tabletop: [do not touch the pear, never put anything in the tray]\n")
    served = serve(SymbolicBody(tabletop("mug pear: item; tray: container", "hand_empty()")), rules=str(rules))
    for action, rule in (
        ("grasp(pear)", "do not touch the pear"),
        ("grab_and_putin(mug, tray)", "never put anything in the tray"),
    ):
        result = served.do(action)
        assert result.code == Code.INVALID_ACTION
        assert f'"{rule}"' in result.message
    assert served.do("grasp(mug)").code == Code.SUCCESS
    assert served.do("place_in(mug, tray)").code == Code.INVALID_ACTION
    assert served.do("GRASP(pear)").code == Code.INVALID_ACTION
    assert [str(action) for action in served.served.body.done] == ["grasp(mug)"]


@pytest.mark.parametrize(
    ("text", "data"), [("tabletop: [nothing above 30 cm]", ()), ("tabletop: [be nice]", '"be nice"')]
)
def test_rules_that_a_body_cannot_keep_are_refused_at_the_start(make_node, tmp_path, text, data):
    rules = tmp_path / "rules.yaml"
    rules.write_text(text)
    with raises_code("configuration", data):
        serve_body(make_node("a_body"), SymbolicBody(WORLD), rules=str(rules))


@pytest.fixture
def announce(ros):
    """announce(name, part) -> key of a feedback_node in a participant, as in a process, of its own, and its end."""
    ends = []

    def make(name, part=TASKS):
        context = ros.Context()
        ros.init(context=context)
        node = ros.create_node(name, context=context)

        def end():
            ends.remove(end)
            node.destroy_node()
            context.try_shutdown()

        ends.append(end)
        return show_own_presence(node, part), end

    yield make
    for end in list(ends):
        end()


def test_the_actions_of_a_second_feedback_node_are_refused(serve, announce, spin_until):
    """The one that was there first is obeyed; one of a system that was started beside only once the first has gone."""
    body = SymbolicBody(WORLD)
    served = serve(body)
    binding = served.served._binding
    own, end = announce("feedback_node")
    spin_until(lambda: binding._presence.count == 1, 20, "the first")
    assert Code(served.do("grasp(a)", sender=own).code) is Code.SUCCESS
    other, _ = announce("feedback_node_of_another_system")
    spin_until(lambda: binding._presence.count == 2, 20, "both")
    result = served.do("place_in(a, tray)", sender=other)
    assert Code(result.code) is Code.NOT_STARTED and "feedback_node_of_another_system" in result.message
    assert body.done == ["grasp(a)"]
    assert Code(served.do("place_in(a, tray)", sender=own).code) is Code.SUCCESS
    end()
    assert Code(served.do("grasp(b)", sender=other).code) is Code.SUCCESS
    assert Code(served.do("place_in(b, tray)").code) is Code.SUCCESS, "a client that is no feedback_node"


def test_of_two_feedback_nodes_that_were_there_before_the_body_none_is_obeyed(serve, announce, spin_until):
    keys = [announce(name)[0] for name in ("one", "two")]
    body = SymbolicBody(WORLD)
    served = serve(body)
    spin_until(lambda: served.served._binding._presence.count == 2, 20, "both")
    served.served._binding._bound = b""  # which of them was met first is chance
    for key in keys:
        assert Code(served.do("grasp(a)", sender=key).code) is Code.NOT_STARTED
    assert not body.done
