"""Nodes with a lifecycle as processes: whatever state one dies in, it is started again, and not active by itself."""

import signal
import time
from importlib import import_module

import pytest
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from planweave_interfaces.srv import GetTask, InterpretGoal, SubmitTask
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_fixtures import simulated, task_goal

from feedback_node.node import FeedbackNode
from planner_node.node import PlannerNode
from planweave.core.base.paths import config_dir
from planweave.launcher import running_system as launcher
from planweave.launcher.running_system import RunningSystem
from planweave.launcher.systems import NodeSpec, System


@pytest.mark.timeout(900)
def test_a_node_that_is_killed_in_any_state_is_started_again_and_waits(make_node, spin_until, tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "FIRST_PAUSE", 0.01)
    person = make_node("person")
    change = person.create_client(ChangeState, "/perception_node/change_state")
    ask = person.create_client(GetState, "/perception_node/get_state")
    node = NodeSpec("perception_node", (config_dir() / "perception.yaml",))
    said = []

    def answer(client, request, seconds=5.0):
        """The answer of whichever process is there now; one of a process that was killed never comes."""
        future = client.call_async(request)
        deadline = time.monotonic() + seconds
        while not future.done() and time.monotonic() < deadline:
            time.sleep(0.01)
        return future.result() if future.done() else None

    with RunningSystem(System("one", "", (node,)), tmp_path, {"perception_node": {"autostart": False}}) as running:

        def state():
            running.revive(said.append)
            found = answer(ask, GetState.Request()) if ask.service_is_ready() else None
            return found.current_state.id if found else None

        def go(transition, wanted):
            answer(change, ChangeState.Request(transition=Transition(id=transition)))
            spin_until(lambda: state() == wanted, 20, f"the state {wanted}")

        def ended(count):
            running.revive(said.append)
            return len(said) == count

        spin_until(lambda: state() == State.PRIMARY_STATE_INACTIVE, 30, "the node to wait")
        ways = (
            (),
            ((Transition.TRANSITION_ACTIVATE, State.PRIMARY_STATE_ACTIVE),),
            ((Transition.TRANSITION_CLEANUP, State.PRIMARY_STATE_UNCONFIGURED),),
        )
        for number, way in enumerate(ways):
            for step in way:
                go(*step)
            running.signal("perception_node", signal.SIGKILL)
            spin_until(lambda n=number: ended(n + 1), 10, "its death to be told")
            assert "killed by signal 9" in said[-1]
            spin_until(lambda: state() == State.PRIMARY_STATE_INACTIVE, 30, "it to be there again, and to wait")
        answer(change, ChangeState.Request(transition=Transition(id=Transition.TRANSITION_INACTIVE_SHUTDOWN)))
        spin_until(lambda: ended(len(ways) + 1), 10, "the end of a node that was shut down")
        assert "exit code 0" in said[-1]


NODES = {
    "executor_node": ("domain", "tabeltop", "kitchen", lambda node: node._domain.name),
    "perception_node": ("camera", "overhed", "left", lambda node: node._camera_name),
    "planner_node": ("price_table", "/nowhere.yaml", "", lambda node: node.get_parameter("price_table").value),
    "feedback_node": ("journal_folder", "/nowhere", "/tmp", lambda node: node._settings["journal_folder"]),
    "virtualhome_node": ("scene", "home_falt", "home_studio", lambda node: node.get_parameter("scene").value),
    "body_node": ("body", "hoem", "home", lambda node: node.get_parameter("body").value),
}
"""By node: a parameter, a value that names nothing, another one, and what the node then uses."""


@pytest.mark.parametrize("name", NODES)
def test_a_node_is_configured_again_with_other_parameters_and_after_a_mistake(name, make_node, spin_until):
    """Over the services that `ros2 lifecycle set` and `ros2 param set` call."""
    parameter, wrong, right, used = NODES[name]
    kind = {"virtualhome_node": "VirtualHomeNode"}.get(name, name.title().replace("_", ""))
    kind = getattr(import_module(f"{name}.node"), kind)
    more = [Parameter("client", value="none")] if name == "planner_node" else simulated(name)
    node, person, said = make_node(kind, parameter_overrides=more), make_node("person"), []
    person.create_subscription(Log, "/rosout", lambda log: said.append(log.msg), 100)
    calls = {
        word: person.create_client(service, f"/{name}/{word}")
        for word, service in (("change_state", ChangeState), ("get_state", GetState), ("set_parameters", SetParameters))
    }
    assert all(client.wait_for_service(60.0) for client in calls.values())

    def call(word, **fields):
        answer = calls[word].call_async(calls[word].srv_type.Request(**fields))
        spin_until(answer.done, 20, word)
        return answer.result()

    def go(*ways):
        ids = [getattr(Transition, f"TRANSITION_{way.upper()}") for way in ways]
        return [call("change_state", transition=Transition(id=each)).success for each in ids]

    def put(value):
        message = Parameter(parameter, value=value).to_parameter_msg()
        return call("set_parameters", parameters=[message]).results[0]

    def made():
        """Services, publishers and actions that not every managed node has."""
        every = [each.srv_name for each in node.services] + [each.topic_name for each in node.publishers]
        every += [each._action_name for each in node.waitables if hasattr(each, "_action_name")]
        return sorted(x for x in every if not x.lstrip("/").startswith((f"{name}/", "rosout", "parameter_events")))

    complete = made()
    assert complete and node.active
    assert go("configure", "cleanup") == [False, False] and made() == complete and node.active  # not in this state
    refused = put(right)
    assert not refused.successful and "deactivate, cleanup" in refused.reason
    assert go("deactivate", "cleanup") == [True, True]
    assert made() == [] and f"{name} is unconfigured" in node.why_idle
    if put(wrong).successful:  # only files tell that there is no such thing
        assert go("configure") == [False]
        spin_until(lambda: any("could not be configured" in text and wrong in text for text in said), 10, "the reason")
        assert made() == [] and call("get_state").current_state.id == State.PRIMARY_STATE_UNCONFIGURED
    broken = lambda values: (node.create_publisher(Log, "half", 1), 1 / 0)  # noqa: E731  a fault of ours, half way
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node, "configure", broken)
        assert go("configure") == [False] and made() == []
    assert put(right).successful and go("configure", "activate") == [True, True]
    assert made() == complete and node.active and used(node) == right
    assert go("deactivate", "activate", "deactivate", "cleanup", "configure", "activate") == [True] * 6
    assert made() == complete


def test_a_feedback_node_that_is_not_active_takes_no_task_and_ends_what_it_had(make_node, spin_until):
    node, person = make_node(FeedbackNode, simulated("feedback_node", body_silence=600.0)), make_node("person")
    submit, get = person.create_client(SubmitTask, "/submit_task"), person.create_client(GetTask, "/get_task")
    assert submit.wait_for_service(60.0) and get.wait_for_service(60.0)

    def call(client, **fields):
        answer = client.call_async(client.srv_type.Request(**fields))
        spin_until(answer.done, 20, "an answer")
        return answer.result()

    asked = task_goal(sentence="put the red cube in the tray")
    first = call(submit, task=asked)
    assert first.accepted
    node.trigger_deactivate()
    ended = call(get, task_id=first.task_id).status
    assert ended.state == ended.CANCELED
    refused = call(submit, task=asked)
    assert (refused.accepted, refused.code) == (False, "no_system") and "feedback_node is inactive" in refused.message
    node.trigger_activate()
    assert call(submit, task=asked).accepted


def test_a_planner_node_that_is_not_active_answers_no_question(make_node, spin_until):
    quiet = [Parameter("client", value="none"), Parameter("autostart", value=False)]
    node, person = make_node(PlannerNode, parameter_overrides=quiet), make_node("person")
    ask = person.create_client(InterpretGoal, "/interpret_goal")
    assert ask.wait_for_service(60.0)

    def code():
        answer = ask.call_async(InterpretGoal.Request(sentence="put the red cube in the tray"))
        spin_until(answer.done, 20, "an answer")
        return answer.result().code

    assert code() == "no_system"
    node.trigger_activate()
    assert code() != "no_system"
