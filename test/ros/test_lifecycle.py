"""Nodes with a lifecycle as processes: whatever state one dies in, it is started again, and not active by itself."""

import signal
import time

import pytest

from planweave.core.base.paths import config_dir
from planweave.launcher import running_system as launcher
from planweave.launcher.running_system import RunningSystem
from planweave.launcher.systems import NodeSpec, System


@pytest.mark.timeout(900)
def test_a_node_that_is_killed_in_any_state_is_started_again_and_waits(make_node, spin_until, tmp_path, monkeypatch):
    from lifecycle_msgs.msg import State, Transition
    from lifecycle_msgs.srv import ChangeState, GetState

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
