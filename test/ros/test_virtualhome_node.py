"""virtualhome_node over real DDS: the contract of a body, reset, scenes, pictures, cancelling, and a whole task."""

import io
import json
import threading

import pytest
from codes import raises_code
from doubles.fake_unity import FakeUnity
from doubles.nodes import PlannerNodeDouble
from doubles.scripted import ScriptedPlanner, plan
from planweave_interfaces.action import ExecuteAction, RunTask
from planweave_interfaces.msg import TaskStatus, WorldState
from planweave_interfaces.srv import LoadScene, Look
from rclpy.parameter import Parameter
from ros_fixtures import result_of, simulated, task_goal
from sensor_msgs.msg import CompressedImage

from feedback_node.node import FeedbackNode
from planweave.core.base.failure import Code
from planweave.core.base.paths import config_dir
from planweave.core.symbolic.world import Action, Known
from planweave_ros import conversions as convert
from planweave_ros.qos import TRANSIENT_LOCAL
from virtualhome_node.node import VirtualHomeNode


@pytest.fixture
def home(make_node):
    """home(parameter=value, …): the node, and a client with what the tests call."""
    from std_srvs.srv import Trigger

    class Home:
        def __init__(self, **parameters):
            values = [Parameter(name.replace("__", "."), value=value) for name, value in parameters.items()]
            self.node = make_node(VirtualHomeNode, values)
            self.client = make_node("client")
            self.worlds = []
            self.began = threading.Event()  # some action has begun
            self.client.create_subscription(
                WorldState, "/world_state", lambda m: self.worlds.append(convert.world_from_msg(m)), TRANSIENT_LOCAL
            )
            self.execute = make_node.action_client(self.client, ExecuteAction, "/execute_action")
            assert self.execute.wait_for_server(timeout_sec=60.0)
            self.reset = self.client.create_client(Trigger, "/virtualhome/reset")
            self.load = self.client.create_client(LoadScene, "/virtualhome/load_scene")
            assert self.reset.wait_for_service(60.0) and self.load.wait_for_service(60.0)

        def send(self, text, timeout=0.0):
            goal = ExecuteAction.Goal(action=convert.action_to_msg(Action.parse(text)), timeout=timeout)
            return result_of(self.execute.send_goal_async(goal, feedback_callback=lambda _: self.began.set()))

        def do(self, text, timeout=0.0):
            result = result_of(self.send(text, timeout).get_result_async()).result
            return Code(result.code), result.message, convert.world_from_msg(result.world), result

    return Home


def facts(world):
    return {str(f) for f in world.facts}


def test_actions_and_the_world_after_them(home, spin_until):
    home = home()
    spin_until(lambda: home.worlds, 5, "the first world")
    assert home.worlds[0].domain == "household" and "agent_in(living_room_2)" in facts(home.worlds[0])
    code, message, world, _ = home.do("walk(fridge_10)")
    assert code is Code.SUCCESS and message == "Success" and "agent_in(kitchen_1)" in facts(world)
    spin_until(lambda: home.worlds[-1].facts == world.facts, 5, "the published world to be that of the result")
    assert home.worlds[-1].revision == world.revision > home.worlds[0].revision
    code, message, world, result = home.do("close(fridge_10)")
    assert code is Code.PRECONDITION_UNMET
    assert message == '<fridge> (10) is not open when executing "[CLOSE] <fridge> (10) [2]"'
    assert [str(u) for u in convert.literals_from_msg(result.unmet)] == ["opened(fridge_10)"]


@pytest.mark.parametrize(
    "text, code, words",
    [
        ("fly(fridge_10)", Code.INVALID_ACTION, "unknown action 'fly'"),
        ("walk(fridge_11)", Code.UNKNOWN_OBJECT, "did you mean 'fridge_10'"),
        ("grab(kitchen_1)", Code.INVALID_ACTION, "must be: item"),
    ],
)
def test_what_is_no_action(home, text, code, words):
    home = home()
    got, message, _, _ = home.do(text)
    assert got is code and words in message
    assert home.do("walk(fridge_10)")[0] is Code.SUCCESS


def test_an_action_without_a_name_or_with_an_odd_deadline(home):
    home = home()
    handle = result_of(home.execute.send_goal_async(ExecuteAction.Goal()))
    assert result_of(handle.get_result_async()).result.code == Code.INVALID_ACTION
    assert "timeout must be above 0 s" in home.do("walk(fridge_10)", timeout=-1.0)[1]


def test_deadline_and_cancel(home):
    home = home(action_seconds=30.0)
    code, message, world, _ = home.do("walk(fridge_10)", timeout=0.1)
    assert code is Code.TIMEOUT and " 0.1 s " in message
    assert "agent_in(living_room_2)" in facts(world)
    home.began.clear()
    handle = home.send("walk(fridge_10)")
    assert home.began.wait(60.0)
    busy = home.do("walk(sofa_18)")
    assert busy[0] is Code.CONTROL_FAILED and "busy with walk(fridge_10)" in busy[1]
    assert not result_of(home.reset.call_async(home.reset.srv_type.Request())).success
    result_of(handle.cancel_goal_async())
    done = result_of(handle.get_result_async())
    assert Code(done.result.code) is Code.CANCELED and done.status == 5  # STATUS_CANCELED
    assert "agent_in(living_room_2)" in facts(convert.world_from_msg(done.result.world))


def test_reset_and_load_scene(home, spin_until):
    home = home()
    home.do("walk(fridge_10)")
    home.do("open(fridge_10)")
    assert result_of(home.reset.call_async(home.reset.srv_type.Request())).success
    spin_until(lambda: "unseen(fridge_10)" in facts(home.worlds[-1]), 5, "the world at the start")
    request = home.load.srv_type.Request
    wrong = result_of(home.load.call_async(request(scene="home_falt")))
    assert not wrong.success and "'home_flat'" in wrong.message
    assert result_of(home.load.call_async(request(scene="home_studio"))).success
    spin_until(lambda: "bed_16" in home.worlds[-1].by_name, 5, "the world of the studio")


def test_broken_scene_files_are_told_and_the_old_home_stays(home, tmp_path):
    home, path = home(), tmp_path / "broken.json"
    text = (config_dir() / "scenes" / "home_flat.json").read_text()

    def edge(relation, start, end):
        data = json.loads(text)
        data["edges"].append({"from_id": start, "relation_type": relation, "to_id": end})
        return json.dumps(data)

    twice, nobody = json.loads(text), json.loads(text)
    twice["nodes"].append({**twice["nodes"][0], "class_name": "attic"})
    nobody["nodes"] = [n for n in nobody["nodes"] if n["class_name"] != "character"]
    nobody["edges"] = []
    for broken, words in (
        (edge("UNDER", 7, 10), "edges[395]: unknown relation 'UNDER'"),
        (edge("ON", 7, 4000), "to_id 4000 is the id of no node"),
        (json.dumps(twice), "id 1 is used twice"),
        (json.dumps(nobody), "there is no character"),
        (text[:5000], "not JSON"),
        ("", "not JSON"),
        ("[]", 'the lists "nodes" and "edges"'),
    ):
        path.write_text(broken)
        reply = result_of(home.load.call_async(home.load.srv_type.Request(scene=str(path))))
        assert not reply.success and f"{path.name}:" in reply.message and words in reply.message
    assert home.do("walk(fridge_10)")[0] is Code.SUCCESS


def test_a_picture_for_who_looks(home, make_node, spin_until):
    from PIL import Image

    home = home(picture_period=0.05)
    pictures = []
    make_node("viewer").create_subscription(CompressedImage, "/virtualhome/picture", pictures.append, TRANSIENT_LOCAL)
    spin_until(lambda: pictures, 10, "a first picture")
    first = bytes(pictures[0].data)
    assert Image.open(io.BytesIO(first)).size[0] == 1280 and pictures[0].format == "png"
    home.do("walk(tv_65)")
    home.do("switchon(tv_65)")
    spin_until(lambda: bytes(pictures[-1].data) != first, 10, "a picture of what changed")


@pytest.mark.parametrize(
    ("parameters", "code", "data"),
    [
        ({"scene": "home_flatt"}, "unknown_name", "'home_flat'"),
        ({"backend": "untiy"}, "configuration", "'unity'"),
        (
            {"backend": "unity", "unity__url": "http://127.0.0.1:9"},
            "control_failed",
            ("http://127.0.0.1:9", "-http-port=9"),
        ),
        (
            {"backend": "unity", "unity__url": "127.0.0.1:8080"},
            "configuration",
            ("'127.0.0.1:8080'", "http://127.0.0.1:8080"),
        ),
    ],
)
def test_wrong_parameters_end_the_start_with_a_reason(ros, home, parameters, code, data):
    with raises_code(code, data):
        home(**parameters)


def test_the_same_contract_with_unity(home):
    data = json.loads((config_dir() / "scenes" / "home_flat.json").read_text())
    with FakeUnity(data) as unity:
        home = home(backend="unity", unity__url=unity.url, unity__timeout=5.0)
        assert home.do("walk(fridge_10)")[0] is Code.SUCCESS
        code, message, world, _ = home.do("close(fridge_10)")
        assert code is Code.PRECONDITION_UNMET and "ScriptExcutor 0: PROCESS CLOSE" in message
        assert "<fridge> (10)" in message and "agent_in(kitchen_1)" in facts(world)
        unity.moods["render_script"] = ["silence"]
        assert home.do("open(fridge_10)", timeout=0.5)[0] is Code.TIMEOUT
        unity.released.set()


def test_a_task_through_feedback_node(home, make_node):
    """Sampled plans of which one forgets to open the fridge: the goal holds in the end, as observed."""
    home = home()
    steps = "walk(salmon_49); grab(salmon_49); walk(fridge_10); "
    sampled = [
        plan(steps + "putin(salmon_49, fridge_10)", 2),
        plan(steps + "open(fridge_10); putin(salmon_49, fridge_10)", 1),
    ]
    planner = ScriptedPlanner(sampled, choices=[0, 1, 1, 1], goal="inside(salmon_49, fridge_10)")
    make_node(PlannerNodeDouble, planner)
    make_node(FeedbackNode, simulated("feedback_node"))
    client = make_node.action_client(home.client, RunTask, "/run_task")
    assert client.wait_for_server(timeout_sec=60.0)
    handle = result_of(
        client.send_goal_async(
            RunTask.Goal(task=task_goal(sentence="put the salmon in the fridge", method="tree_planner"))
        )
    )
    result = result_of(handle.get_result_async(), 40).result
    assert result.success, result.message
    assert "inside(salmon_49, fridge_10)" in facts(home.do("standup()")[2])


def test_a_look_around_is_always_fresh(home):
    home = home()
    looking = home.client.create_client(Look, "/look")
    assert looking.wait_for_service(60.0)
    stamps = []
    for _ in range(2):
        answer = result_of(looking.call_async(Look.Request(timeout=0.0)))
        world = convert.world_from_msg(answer.world)
        stamps.append(world.stamp)
        assert answer.fresh and world.by_name["sofa_18"].known is Known.SEEN
        assert world.by_name["sofa_18"].last_seen == pytest.approx(world.stamp)
        assert world.by_name["salmon_49"].known is Known.UNKNOWN and world.by_name["kitchen_1"].known is Known.FIXED
    assert stamps[0] < stamps[1]


def test_the_home_is_not_swapped_under_a_task(tasks_going_on, home, spin_until):
    house = home()
    spin_until(lambda: house.node.count_services("/list_tasks"), 20, "the list of tasks")
    tasks_going_on.append(TaskStatus(task_id="task-2", state=TaskStatus.RUNNING))
    for client, fields in ((house.reset, {}), (house.load, {"scene": "home_flat"})):
        reply = result_of(client.call_async(client.srv_type.Request(**fields)))
        assert not reply.success and "task-2" in reply.message, reply.message
    tasks_going_on.clear()
    assert result_of(house.reset.call_async(house.reset.srv_type.Request())).success


def test_a_second_body_beside_the_home_is_refused(home, make_node):
    home()
    with raises_code("configuration", "virtualhome_node", "/world_state"):
        VirtualHomeNode()
