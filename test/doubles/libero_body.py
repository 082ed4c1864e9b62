"""A body for LIBERO's tasks that moves nothing: actions have the domain's effects and take steps of the simulator."""

from planweave.bodies.symbolic import SymbolicBody
from planweave.core.symbolic.domain import Domain
from planweave.libero.truth import truth

KITCHEN = Domain.load("kitchen")


class StepsOnly(SymbolicBody):
    """Every action takes `steps` steps. failures: as of SymbolicBody."""

    def __init__(self, simulator, task, steps=100, failures=0.0):
        super().__init__(KITCHEN, truth(KITCHEN, task.state), failures=failures)
        self._simulator, self._steps = simulator, steps

    def execute(self, action, **more):
        """The domain's effects, after the steps."""
        self._simulator.step([[0.0] * 7] * self._steps)
        return super().execute(action, **more)
