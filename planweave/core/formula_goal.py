"""A goal that is no conjunction of literals, run as a literal of a derived predicate that the formula defines."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from planweave.core.domain import Domain, Predicate
from planweave.core.errors import GoalError
from planweave.core.formula import Axiom, Formula, terms_of
from planweave.core.pddl_writer import formula_pddl
from planweave.core.ports import LookingBody
from planweave.core.validation import with_facts_of
from planweave.core.world import Literal, World
from planweave.core.wrapped_body import CompletedBody


class FormulaGoalError(GoalError):
    """A method was given a goal that is no conjunction of literals, and its prompts need literals. method: its name."""

    code = "formula-goal"

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
        return super()._completed(with_facts_of(self.domain, world, self._formula))
