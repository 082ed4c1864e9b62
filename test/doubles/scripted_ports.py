"""Action ports whose server is the test: what was sent, when it ends and how."""

import types

from planweave.core.action_end import ActionEnd, End


class ScriptedPort:
    """An `planweave.bodies.arm.arms.base.GoalPort`; a goal ends when `end` is called."""

    def __init__(self, action="/an_action"):
        self.action = action
        self.goals, self.canceled = [], 0
        self._done = None
        self.unreached = ""

    def send(self, goal, done, feedback=None):
        self.goals.append(goal)
        self._done = done

    def cancel(self):
        self.canceled += 1
        return self.unreached

    def end(self, end=End.SUCCEEDED, **result):
        """Let the goal end."""
        done, self._done = self._done, None
        done(ActionEnd(end, self.action, types.SimpleNamespace(**result) if result else None))
