"""A double of the console's client for the agent's tools: tasks are run by a TaskManager on a symbolic body."""

import numpy as np

from planweave.core.base.errors import GoalError, SystemDownError, UnknownNameError
from planweave.core.workflow.step_motion import PlanPreview
from planweave.methods import METHODS
from planweave.tasks.task_manager import TaskManager


class AgentClient:
    """The methods of planweave_ros.client.Client that the tools use, without ROS; keep() ends it."""

    def __init__(self, planner, body, **options):
        self.planner, self.body, self.answers = planner, body, []
        self.silent, self.in_force = False, []
        self._manager = TaskManager(planner, body, lambda name: METHODS[name](), **options)

    def close(self):
        self._manager.close()

    def world(self, patience=5.0):
        return None if self.silent else self.body.world

    def rules(self, domain=""):
        return self.in_force

    def picture(self, topic="camera/color/image_raw", timeout=10.0):
        if self.silent:
            raise SystemDownError(f"no images on {topic} for {timeout:g} s")
        return np.zeros((2, 3, 3), np.uint8)

    def interpret_goal(self, sentence, world, timeout=60.0):
        return self.planner.interpret_goal(sentence, world)

    def submit(self, sentence, *, method="", goal=(), **more):
        return self._manager.submit(sentence, method, goal, **more).status.task_id

    def task(self, task_id=""):
        task = self._manager.get(task_id)
        if task is None:
            raise UnknownNameError("task", task_id, [])
        return task.snapshot(), {"events": task.journal.events()}

    def ended(self, task_id):
        return self._manager.get(task_id).ended.wait(60.0)

    def cancel(self, task_id=""):
        return f"{self._manager.cancel(task_id).status.task_id} is being cancelled"

    def pause(self, task_id="", reason="", agent=False):
        return f"{self._manager.pause(task_id, 'an agent of me' if agent else 'me', reason).status.task_id} is paused"

    def resume(self, task_id="", agent=False):
        return f"{self._manager.resume(task_id, 'an agent of me' if agent else 'me').status.task_id} goes on"

    def preview(self, task_id, plan_hash, patience=5.0):
        """This body plans no motions beforehand."""
        return PlanPreview(task_id, plan_hash, (), "this body plans no motions beforehand")

    def answer(self, task_id, question_id, choice=0, text="", agent=False):
        return self._manager.answer(task_id, question_id, choice, text, "an agent of me" if agent else "me")

    def approve(self, task_id, plan_hash, approve, comment="", agent=False):
        self.answers.append((approve, comment, agent))
        if not agent:
            raise GoalError("an agent says that it is one")
        self._manager.approve(task_id, plan_hash, approve, comment, "an agent")
        return "answered"
