"""Node doubles: a planner node that answers from a script, a body node that the domain drives."""

import threading
from functools import partial

from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.msg import WorldState
from planweave_interfaces.srv import Look
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from planweave.core.errors import PlanweaveError
from planweave_ros import conversions as convert
from planweave_ros.ports import LATCHED
from planweave_ros.presence import BODY, PLANNER, show_presence
from planweave_ros.questions import QUESTIONS, question_for


class PlannerNodeDouble(Node):
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


class BodyNodeDouble(Node):
    """Serves a body's interfaces from a SymbolicBody."""

    def __init__(self, body):
        super().__init__("body_node_double")
        self.body = body
        self.cancelled = threading.Event()
        self._worlds = self.create_publisher(WorldState, "/world_state", LATCHED)
        self._server = ActionServer(
            self,
            ExecuteAction,
            "/execute_action",
            self.execute,
            cancel_callback=self.cancel,
            callback_group=ReentrantCallbackGroup(),
        )
        self.create_service(Look, "/look", self.look, callback_group=ReentrantCallbackGroup())
        self._worlds.publish(convert.world_to_msg(body.world))
        show_presence(self, BODY)

    def look(self, request, response):
        look = self.body.look(request.timeout)
        response.fresh, response.message, response.world = look.fresh, look.message, convert.world_to_msg(look.world)
        return response

    def destroy_node(self):
        self._server.destroy()  # else it stays in the graph, as one more body
        super().destroy_node()

    def cancel(self, _):
        self.cancelled.set()
        return CancelResponse.ACCEPT

    def execute(self, goal):
        goal.publish_feedback(ExecuteAction.Feedback(phase="moving", progress=0.5))
        outcome = self.body.execute(convert.action_from_msg(goal.request.action))
        result = ExecuteAction.Result(
            code=int(outcome.code), message=outcome.message, unmet=convert.literals_to_msg(outcome.unmet)
        )
        result.world = convert.world_to_msg(outcome.world)
        self._worlds.publish(result.world)
        if goal.is_cancel_requested:
            result.code = ExecuteAction.Result.CANCELED
            goal.canceled()
        else:
            goal.succeed()
        return result
