"""libero_node with LIBERO's real simulator: an action, another task, wrong names; skipped where it is not installed."""

import pytest
from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.msg import WorldState
from planweave_interfaces.srv import LoadScene
from ros_fixtures import not_in_the_policies
from sensor_msgs.msg import JointState

from planweave.core.base.errors import NotInstalledError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action
from planweave.launcher.systems import load_system
from planweave.libero.environment import python
from planweave.libero.session import LiberoSession
from planweave_ros.conversions import action_to_msg
from planweave_ros.qos import TRANSIENT_LOCAL


def missing():
    try:
        python()
    except NotInstalledError as error:
        return str(error)
    return ""


pytestmark = pytest.mark.skipif(bool(missing()), reason=f"needs LIBERO's simulator: {missing()}")


@pytest.fixture
def libero(start_node, make_node, spin_until):
    """The node, and a client of what it offers."""
    client = make_node("libero_client")
    client.worlds, client.joints = [], []
    client.create_subscription(WorldState, "/world_state", client.worlds.append, TRANSIENT_LOCAL)
    client.create_subscription(JointState, "/joint_states", client.joints.append, 10)
    client.load = client.create_client(LoadScene, "/libero/load_scene")
    client.act = make_node.action_client(client, ExecuteAction, "/execute_action")
    spec = next(n for n in load_system("libero").nodes if n.name == "libero_node")
    start_node(spec.name, parameter_files=spec.parameter_files, scene="libero_object/0/0")
    spin_until(lambda: client.worlds and client.joints, 60, "the world and the arm")
    spin_until(client.act.server_is_ready, 20, "the action server")
    assert not not_in_the_policies(client, [spec], spin_until)
    return client


def carried_out(client, spin_until, text):
    sent = client.act.send_goal_async(ExecuteAction.Goal(action=action_to_msg(Action.parse(text))))
    spin_until(sent.done, 20, "the goal to be accepted")
    result = sent.result().get_result_async()
    spin_until(result.done, 120, text)
    return result.result().result


def test_a_thing_is_grasped_and_another_task_loaded(libero, spin_until):
    done = carried_out(libero, spin_until, "grasp(alphabet_soup_1)")
    assert done.code == 0, done.message
    assert any(f.predicate == "holding" and list(f.arguments) == ["alphabet_soup_1"] for f in done.world.facts)
    refused = carried_out(libero, spin_until, "grasp(unicorn)")
    assert refused.code != 0 and "unicorn" in refused.message
    revision = libero.worlds[-1].revision
    for scene, good, text in (
        ("libero_object/1/0", True, "cream cheese"),
        ("libero_object/99/0", False, "tasks 0 to 9"),
        ("no such scene", False, "suite/task/initial state"),
    ):
        answer = libero.load.call_async(LoadScene.Request(scene=scene))
        spin_until(answer.done, 60, scene)
        assert answer.result().success is good and text in answer.result().message, answer.result()
    spin_until(lambda: libero.worlds[-1].revision > revision, 20, "the other task's world")
    assert not any(f.predicate == "holding" for f in libero.worlds[-1].facts)


def test_a_stop_between_the_beginning_and_the_action_is_not_forgotten():
    session = LiberoSession("libero_object/0/0")
    try:
        session.begin(60.0)
        session.stop(Code.CANCELED, "cancelled before it began")
        before = session.body.arm.steps
        outcome = session.execute(Action.parse("grasp(alphabet_soup_1)"), timeout=60.0)
        assert (outcome.code, session.body.arm.steps) == (Code.CANCELED, before)
    finally:
        session.close()
