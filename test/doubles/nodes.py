"""Node doubles: a planner node that answers from a script, a body node that the domain drives."""

import threading

from planweave_interfaces.action import ChooseAction, ExecuteAction, GeneratePlans
from planweave_interfaces.msg import WorldState
from planweave_interfaces.srv import InterpretGoal, Look
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from planweave.core.errors import PlanweaveError
from planweave_ros import conversions as convert
from planweave_ros.ports import LATCHED
from planweave_ros.presence import BODY, PLANNER, show_presence


class PlannerNodeDouble(Node):
    """Serves the planner node's interfaces from a ScriptedPlanner."""

    def __init__(self, planner):
        super().__init__("planner_node_double")
        self.planner = planner
        group = ReentrantCallbackGroup()
        ActionServer(self, GeneratePlans, "/generate_plans", self.generate, callback_group=group)
        ActionServer(self, ChooseAction, "/choose_action", self.choose, callback_group=group)
        self.create_service(InterpretGoal, "/interpret_goal", self.interpret, callback_group=group)
        show_presence(self, PLANNER)

    def generate(self, goal):
        result = GeneratePlans.Result()
        try:
            sampled = self.planner.generate_plans(goal.request.sentence, convert.world_from_msg(goal.request.world))
        except PlanweaveError as error:
            result.message = str(error)
            goal.abort()
            return result
        result.success, result.received = True, sampled.received
        result.plans = [convert.plan_to_msg(p) for p in sampled.plans]
        result.usage = convert.usage_to_msg(sampled.usage)
        goal.succeed()
        return result

    def choose(self, goal):
        request = goal.request
        choice = self.planner.choose_action(
            request.sentence,
            convert.world_from_msg(request.world),
            [convert.action_from_msg(a) for a in request.history],
            [convert.action_from_msg(a) for a in request.options],
            errors=list(request.errors),
        )
        goal.succeed()
        return ChooseAction.Result(
            success=True, choice=choice.index, votes=list(choice.votes), usage=convert.usage_to_msg(choice.usage)
        )

    def interpret(self, request, response):
        read = self.planner.interpret_goal(request.sentence, convert.world_from_msg(request.world))
        response.success, response.source = True, read.source
        response.goal = convert.literals_to_msg(read.goal)
        response.understood, response.answer = read.understood, read.answer
        return response


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
