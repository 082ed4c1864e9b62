"""What every node of Planweave does otherwise than rclpy: timers, room for answers, no look-up of types."""

from pathlib import Path

from rcl_interfaces.msg import Log
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.event_handler import EventHandler
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Empty, String

from planweave_ros.guarded import GuardedNode


def test_timers_go_on_while_the_simulated_clock_stands(make_node, spin_until):
    node = make_node(GuardedNode, "watcher", parameter_overrides=[Parameter("use_sim_time", value=True)])
    ticks = []
    node.create_timer(0.01, lambda: ticks.append(node.get_clock().now().nanoseconds))
    spin_until(lambda: len(ticks) > 2, 5, "a timer of a node whose /clock nobody publishes")
    assert set(ticks) == {0}


def test_an_answer_is_kept_though_many_for_other_clients_come_before_it_is_taken(ros, executor, make_node, spin_until):
    from std_srvs.srv import Trigger

    answered = []

    def answer(request, response):
        answered.append(request)
        return response

    server, others = make_node(GuardedNode, "server"), make_node(GuardedNode, "others")
    server.create_service(Trigger, "ask", answer, callback_group=ReentrantCallbackGroup())
    busy = GuardedNode("busy")  # not spun yet: it takes no answers
    client, other = (n.create_client(Trigger, "ask") for n in (busy, others))
    try:
        for each in (client, other):
            assert each.wait_for_service(timeout_sec=60.0)
        mine = client.call_async(Trigger.Request())
        spin_until(lambda: answered, 60, "the request of the busy node")
        for _ in range(30):
            theirs = other.call_async(Trigger.Request())
            spin_until(theirs.done, 60, "an answer to the other node")
        executor.add_node(busy)
        spin_until(mine.done, 60, "the answer that waited")
    finally:
        executor.remove_node(busy)
        busy.destroy_node()


def test_no_participant_asks_others_for_types(make_node):
    """Fast DDS's threads for it can wait for each other for ever, and with them all that is discovered."""
    make_node("one")
    make_node("two")
    threads = {(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()}
    assert any(name.startswith("dds.") for name in threads)
    assert not [name for name in threads if name.startswith("dds.tls")]


def test_publishers_whose_messages_cannot_come_are_named_once(ros, make_node, spin_until):
    told, come = [], []
    make_node("reader").create_subscription(Log, "/rosout", lambda m: told.append(m.msg), 100)
    elsewhere = ros.Context()  # a participant of its own: one has each topic with one type only
    ros.init(context=elsewhere)
    camera = ros.create_node("camera", context=elsewhere)
    try:
        camera.create_publisher(String, "unreliable", QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
        camera.create_publisher(Empty, "another_type", 1)
        good = camera.create_publisher(String, "good", 1)
        node = make_node(GuardedNode, "listener")
        for topic in ("unreliable", "another_type", "good"):
            node.create_subscription(String, topic, come.append, 1)
        spin_until(lambda: len([t for t in told if "nothing comes on" in t]) >= 2, 60, "both publishers to be named")
        spin_until(lambda: good.publish(String()) or come, 60, "a message")
    finally:
        camera.destroy_node()
        ros.shutdown(context=elsewhere)
    named = sorted(t for t in told if "nothing comes on" in t)
    assert len(named) == 2, named
    assert named[0].startswith("nothing comes on /another_type from /camera") and "std_msgs/msg/Empty" in named[0]
    assert named[1].startswith("nothing comes on /unreliable from /camera") and "reliab" in named[1]


def test_no_event_handlers_keep_a_node_awake(make_node):
    """Beside a subscription one wakes the executor until a message is taken; GuardedNode says how often."""
    node = make_node(GuardedNode, "listener", parameter_overrides=[Parameter("use_sim_time", value=True)])
    node.create_subscription(Empty, "tick", lambda _: None, 1)
    node.create_publisher(Empty, "tock", 1)
    assert {s.topic_name for s in node.subscriptions} >= {"/tick", "/clock"}
    assert not [waitable for waitable in node.waitables if isinstance(waitable, EventHandler)]
