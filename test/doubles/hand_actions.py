"""The actions of Franka's hand over the simulated fingers, and a record of what is sent to them and to the arm."""

import threading
import types
from typing import ClassVar

from planweave.core.workflow.action_end import ActionEnd, End
from planweave_ros.action_port import ActionPort


class HandAction:
    """Stands in for planweave_ros.action_port.ActionPort."""

    there = True

    def __init__(self, simulation, name):
        self.name, self._simulation, self._done = name, simulation, None

    def send(self, goal, done, feedback=None):
        width, force = getattr(goal, "width", 0.08), getattr(goal, "force", 20.0)  # homing has neither
        self._done = done
        ends = threading.Thread(
            target=self._end, args=[End.SUCCEEDED], daemon=True
        )  # what it calls may wait for physics
        self._simulation._runner.call(lambda s: s.move_gripper(width, force, lambda _: ends.start()))

    def cancel(self):
        self._end(End.CANCELED)
        return ""

    def _end(self, end):
        done, self._done = self._done, None
        if done is not None:
            done(ActionEnd(end, self.name, types.SimpleNamespace(success=True)))


class Recorded:
    """Makes the ports of a node: those of the hand over `simulation`, the arm's as they are."""

    sent: ClassVar = []  # (action, goal) of all of them
    simulation: ClassVar = None

    def __new__(cls, node, action_type, name):
        arm = "arm" in name
        port = ActionPort(node, action_type, name) if arm else HandAction(cls.simulation, name)
        send = port.send

        def told(goal, *rest):
            cls.sent.append((name, goal))
            send(goal, *rest)

        port.send = told
        return port
