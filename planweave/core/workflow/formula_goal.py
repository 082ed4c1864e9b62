"""A goal that is no conjunction of literals, run as a literal of a derived predicate that the formula defines."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from planweave.core.base.errors import GoalError
from planweave.core.checks.validation import goal_atoms
from planweave.core.pddl.formula import Axiom, Formula, terms_of
from planweave.core.planning.pddl_writer import formula_pddl
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.schemas import Predicate
from planweave.core.symbolic.world import Literal, World
from planweave.core.workflow.ports import LookingBody
from planweave.core.workflow.wrapped_body import CompletedBody


class FormulaGoalError(GoalError):
    """A method was given a goal that is no conjunction of literals, and its prompts need literals. method: its name."""

    code = "formula_goal"

    def __init__(self, method: str):
        super().__init__(
            f"the method {method} needs a goal of literals, such as 'in(cup, tray) and not on(a, b)', and this one is "
            "another formula; use method='classical' with fallback='' or 'classical', or planweave.plan"
        )
        self.method = method


class FormulaGoalBody(CompletedBody):
    """A body whose worlds state by `literal` whether a formula holds, and whose domain derives it."""

    def __init__(self, body: LookingBody, domain: Domain, formula: Formula) -> None:
        super().__init__(body, lambda name: self.domain)
        name = "goal"
        while name in domain.predicates:
            name += "-"
        text, terms = formula_pddl(formula), terms_of(formula)
        named = (thing for thing in body.observe().objects if thing.name in terms)
        self.literal, self._formula = Literal(name), formula
        self.domain = replace(
            domain,
            predicates=MappingProxyType({**domain.predicates, name: Predicate(name, (), text, f"not {text}", True)}),
            axioms=(*domain.axioms, Axiom(name, (), formula)),
            constants=tuple(dict.fromkeys((*domain.constants, *named))),
        )

    def _completed(self, world: World) -> World:
        return super()._completed(world.with_derived(goal_atoms(self.domain, world, self._formula)))
