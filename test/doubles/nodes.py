"""Node doubles: a planner node that answers from a script, a body node that the domain drives."""

import threading
from dataclasses import replace
from functools import partial

from rclpy.action import ActionServer
from rclpy.callback_groups import ReentrantCallbackGroup

from planweave.core.base.errors import PlanweaveError
from planweave_ros.guarded import GuardedNode
from planweave_ros.liveliness import PLANNER, show_presence
from planweave_ros.questions import QUESTIONS, question_for
from planweave_ros.serve_body import serve_body


class PlannerNodeDouble(GuardedNode):
    """Serves the planner node's interfaces from a ScriptedPlanner."""

    def __init__(self, planner):
        super().__init__("planner_node_double")
        self.planner = planner
        group = ReentrantCallbackGroup()
        for row in {row.name: row for row in reversed(QUESTIONS)}.values():
            if row.is_action:
                ActionServer(self, row.interface, row.name, partial(self.act, row), callback_group=group)
            else:
                self.create_service(row.interface, row.name, partial(self.answer, row), callback_group=group)
        show_presence(self, PLANNER)

    def answer(self, row, request, reply):
        try:
            row.fill(reply, getattr(self.planner, row.method)(**row.arguments(request)))
        except PlanweaveError as error:
            row.fill_error(reply, error)
        return reply

    def act(self, row, goal):
        result = self.answer(question_for(row.name, goal.request), goal.request, row.interface.Result())
        goal.succeed() if result.success else goal.abort()
        return result


class BodyNodeDouble(GuardedNode):
    """Serves a body's interfaces from a SymbolicBody, as the nodes of real bodies do; others may be there beside it."""

    def __init__(self, body):
        super().__init__("body_node_double")
        self.body = body
        self.cancelled = threading.Event()
        self._stopped = None
        self.served = serve_body(self, self, problem=lambda: "")
        self.world_messages = self.served._worlds._publisher  # for messages that are no worlds

    def observe(self, revision=0):
        return self.body.observe(revision)

    def look(self, seconds):
        return self.body.look(seconds)

    def begin(self, timeout):
        self._stopped = None

    def stop(self, code, message):
        self._stopped = code
        self.cancelled.set()

    def execute(self, action, *, on_phase, **options):
        on_phase("moving", 0.5)
        outcome = self.body.execute(action, **options)
        return replace(outcome, code=self._stopped) if self._stopped else outcome
