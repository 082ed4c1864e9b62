"""Whatever anybody publishes or asks in the ROS domain: no node ends, and nothing forged gives success."""

import math

import rclpy
from doubles.nodes import BodyNodeDouble, PlannerNodeDouble
from doubles.scripted import ScriptedPlanner, SymbolicBody, plan, tabletop
from planweave_interfaces.action import RunTask
from planweave_interfaces.msg import WorldState
from planweave_interfaces.srv import CheckCondition, GroundStep, InterpretGoal, LoadScene, SubmitTask
from rclpy.parameter import Parameter
from ros_fixtures import result_of, simulated, task_goal
from std_msgs.msg import String

from feedback_node.node import FeedbackNode
from planner_node.node import PlannerNode
from planweave_ros import conversions as convert
from planweave_ros.guarded import GuardedNode
from planweave_ros.qos import TRANSIENT_LOCAL, WORLDS
from planweave_ros.rclpy_compat import ThreadSafeActionClient

WORLD = tabletop("a b: item; tray: container; plate: surface; table: location", "at(a, table); at(b, table)")
SUCCESS = tabletop("a b: item; tray: container; plate: surface; table: location", "in(a, tray); at(b, table)")
HUGE = [math.nan, math.inf, -math.inf, 1e308, -1e308]


class Client:
    """A node that runs tasks and calls services."""

    def __init__(self, make_node):
        def make():
            node = rclpy.create_node("client")
            node.run = ThreadSafeActionClient(node, RunTask, "/run_task")
            return node

        self.node = make_node(make)

    def run(self, **goal):
        assert self.node.run.wait_for_server(timeout_sec=60)
        handle = result_of(self.node.run.send_goal_async(RunTask.Goal(task=task_goal(**goal))))
        return result_of(handle.get_result_async(), 60).result

    def call(self, kind, name, **request):
        client = self.node.create_client(kind, name)
        assert client.wait_for_service(timeout_sec=60)
        return result_of(client.call_async(kind.Request(**request)), 60)


def worlds(*edits):
    """Messages of a world each of which holds what no world may hold."""
    for edit in edits:
        msg = convert.world_to_msg(SUCCESS)
        edit(msg)
        yield msg


def named(name):
    return lambda msg: setattr(msg.objects[0], "name", name)


def sized(size):
    def edit(msg):
        msg.objects[0].located = True
        msg.objects[0].size.x = size

    return edit


def test_a_second_publisher_of_the_world_gives_no_success(ros, make_node, spin_until):
    """A forged /world_state in which the goal holds; and one of which the publisher is gone again."""
    from dataclasses import replace

    body = SymbolicBody(WORLD)
    make_node(PlannerNodeDouble, ScriptedPlanner([plan("grasp(a); place_in(a, tray)", 3)], goal="in(a, tray)"))
    make_node(BodyNodeDouble, body)
    make_node(FeedbackNode, simulated("feedback_node", body_silence=1.0))
    client, forger = Client(make_node), ros.create_node("forger")  # not spun, so it may go at any time
    publisher = forger.create_publisher(WorldState, "/world_state", TRANSIENT_LOCAL)
    forged = convert.world_to_msg(replace(SUCCESS, revision=10**6, stamp=1e9))
    publisher.publish(forged)
    spin_until(lambda: publisher.get_subscription_count() and forger.count_publishers("/world_state") == 2, 10, "it")
    result = client.run(sentence="put a in the tray")
    assert not result.success and body.done == []
    assert "/world_state: body_node_double and forger" in result.message
    publisher.destroy()
    spin_until(lambda: forger.count_publishers("/world_state") == 1, 10, "the forged publisher to go")
    # The forged world, the newest there was, is not believed; the true one may come after the second that is waited.
    spin_until(lambda: client.run(sentence="put a in the tray").success, 60, "the true world to be believed")
    assert body.done == ["grasp(a)", "place_in(a, tray)"]
    forger.destroy_node()


def test_the_world_of_a_second_publisher_does_not_replace_one_that_was_not_read_yet(ros, spin_until):
    node, heard = ros.create_node("listener"), []
    subscription = node.create_subscription(WorldState, "worlds", lambda msg: heard.append(msg.revision), WORLDS)
    publishers = [node.create_publisher(WorldState, "worlds", TRANSIENT_LOCAL) for _ in range(2)]
    spin_until(lambda: all(p.get_subscription_count() for p in publishers), 10, "the subscription")
    for number, publisher in enumerate(publishers, 1):
        publisher.publish(WorldState(revision=number))
    spin_until(lambda: ros.spin_once(node, timeout_sec=0.1) or len(heard) == 2, 10, "both worlds")
    assert sorted(heard) == [1, 2]
    node.destroy_subscription(subscription)
    node.destroy_node()


def test_a_world_of_who_does_not_act_is_not_believed(make_node):
    make_node(PlannerNodeDouble, ScriptedPlanner(goal="in(a, tray)"))
    make_node(FeedbackNode, simulated("feedback_node", body_silence=1.0))
    client = Client(make_node)
    forger = make_node("forger")
    publisher = forger.create_publisher(WorldState, "/world_state", TRANSIENT_LOCAL)
    publisher.publish(convert.world_to_msg(SUCCESS))
    result = client.run(sentence="put a in the tray")
    assert not result.success and all(name in result.message for name in ("forger", "/world_state", "/execute_action"))


def test_a_world_that_cannot_be_is_refused_and_the_next_is_taken(make_node, spin_until):
    planner = ScriptedPlanner([plan("grasp(a); place_in(a, tray)", 3)], goal="in(a, tray)")
    make_node(PlannerNodeDouble, planner)
    body = make_node(BodyNodeDouble, SymbolicBody(WORLD))
    make_node(FeedbackNode, simulated("feedback_node", body_silence=1.0))
    client = Client(make_node)
    assert client.run(sentence="put a on the table", method="classical").message  # the true world is known
    edits = [named(n) for n in ("", "a\nb", "a b", "m&m's", "Müsli", "x" * 101, "b", "(a)", "1a")]
    edits += [sized(x) for x in (*HUGE, -1.0)]
    edits += [
        lambda m: m.facts[0].arguments.append("x\ny"),
        lambda m: m.objects.extend(m.objects * 1000),
        lambda m: setattr(m, "domain", "../" * 100),
    ]
    for msg in worlds(*edits[:-1]):
        body.world_messages.publish(msg)
    result = client.run(sentence="put a in the tray")  # it held in the world known before, but what is true now?
    assert not result.success and result.message
    body.world_messages.publish(next(worlds(edits[-1])))  # a world, of a domain that there is not
    assert client.run(sentence="put a in the tray").message
    assert not client.call(SubmitTask, "/submit_task", task=task_goal(sentence="x" * 100_000)).accepted
    body.world_messages.publish(convert.world_to_msg(WORLD))
    spin_until(lambda: client.run(sentence="put a in the tray").success, 60, "a task after the true world")


def test_the_planner_answers_whatever_it_is_asked(make_node):
    make_node(PlannerNode, parameter_overrides=[Parameter("client", value="none")])
    client = Client(make_node)
    for msg in worlds(
        named("a\nb"),
        named(""),
        sized(math.nan),
        lambda m: setattr(m, "domain", "x" * 300),
        lambda m: m.facts[0].arguments.append("nobody"),
    ):
        for kind, name, extra in (
            (InterpretGoal, "/interpret_goal", {"sentence": "put a in the tray"}),
            (GroundStep, "/ground_step", {"method": "lang_prompt", "sentence": "x", "step": "y"}),
            (CheckCondition, "/check_condition", {"condition": "'a' in 'tray'"}),
        ):
            response = client.call(kind, name, world=msg, **extra)
            assert response.message or response.success
    assert client.call(
        InterpretGoal, "/interpret_goal", world=next(worlds(lambda m: None)), sentence="put b in the tray"
    ).success


def test_a_callback_that_fails_ends_nothing_and_a_service_says_so(make_node, spin_until, capfd):
    class Faulty(GuardedNode):
        def __init__(self):
            super().__init__("faulty")
            self.heard = []
            self.create_subscription(String, "/words", self._word, 10)
            self.create_subscription(String, "/words_with_info", self._word_with_info, 10)
            self.create_service(LoadScene, "/load", self._load)
            self.ticks = 0
            self.create_timer(0.01, self._tick)

        def _word(self, msg):
            self.heard.append(msg.data)
            raise KeyError(msg.data)

        def _word_with_info(self, msg, info):
            self.heard.append(info["source_timestamp"])
            raise RecursionError("too deep")

        def _load(self, request, response):
            response.success = True
            raise OSError("File name too long")

        def _tick(self):
            self.ticks += 1
            raise ValueError("tick")

    node, client = make_node(Faulty), Client(make_node)
    talker = make_node("talker")
    outs = [talker.create_publisher(String, topic, 10) for topic in ("/words", "/words_with_info")]
    spin_until(lambda: all(o.get_subscription_count() for o in outs), 10, "discovery")
    for _ in range(5):
        for out in outs:
            out.publish(String(data="x"))
    spin_until(lambda: len(node.heard) == 10 and node.ticks > 5, 10, "all messages")
    response = client.call(LoadScene, "/load", scene="x" * 300)
    assert not response.success and response.message and response.code == "internal"
    said = capfd.readouterr().err
    assert said.count("a message on /words could not be handled (KeyError") == 1
    assert said.count("a timer could not be handled (ValueError") == 1
