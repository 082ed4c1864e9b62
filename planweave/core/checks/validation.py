"""Validation of a whole plan against the domain before execution, with the causes of a failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product

from planweave.core.base.errors import PlanweaveError
from planweave.core.checks.assumptions import Assumptions
from planweave.core.pddl.formula import Atom, Formula, Quantified, TypedVariable, parts_of, substitute
from planweave.core.symbolic.compiled import compile_axioms
from planweave.core.symbolic.domain import Domain, refusal
from planweave.core.symbolic.rules import Broken, RuleError
from planweave.core.symbolic.state import AtomKey, State
from planweave.core.symbolic.transition import Change, Transition, completed
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.symbolic.written import literals_of


@dataclass(frozen=True)
class Cause:
    """The cause of a literal that does not hold where it is needed.

    destroyed_by: index of the step that deleted it, None where it never held; achievers: names of the domain's actions
    that can achieve it; refused: those of them that the body does not carry out.
    """

    literal: Literal
    destroyed_by: int | None
    achievers: tuple[str, ...]
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Validation:
    """Result of validating a plan. failed_step: index of the first inapplicable step, None if all are applicable.

    world: predicted state after the last applicable step; goal_unmet: literals of the goal that do not hold in it.
    assumed: facts about unobserved objects that the result relies on, which the world neither states nor knows to be
    false. goal_open: those literals of goal_unmet that are unknown in this sense: no step affects them, and they may
    hold already. broken: the rules that the failed step would break.
    """

    ok: bool
    failed_step: int | None
    causes: tuple[Cause, ...]
    message: str
    start: World
    added: frozenset[AtomKey]
    deleted: frozenset[AtomKey]
    goal_unmet: tuple[Literal, ...] = ()
    assumed: tuple[Literal, ...] = ()
    goal_open: tuple[Literal, ...] = ()
    broken: tuple[Broken, ...] = ()

    def __str__(self) -> str:
        return self.message

    @property
    def possible(self) -> bool:
        """Return whether every step is applicable and no literal of the goal is known to fail."""
        return self.failed_step is None and self.goal_open == self.goal_unmet

    @cached_property
    def world(self) -> World:
        """The predicted world; only changed facts are built anew, since a home has ten thousand."""
        return replace(
            self.start,
            facts=self.start.facts.difference(_literals(self.deleted)).union(_literals(self.added)),
            derived={},
        )  # poses are not predicted


def _literals(facts: Iterable[AtomKey]) -> list[Literal]:
    return [Literal(f[0], f[1:]) for f in sorted(facts)]


def achievers(domain: Domain, literal: Literal) -> tuple[str, ...]:
    """The actions with an effect that can make a literal true; of a derived one, that change what it follows from."""
    if literal.predicate in domain.derived:
        axioms = compile_axioms(domain)
        needs = {name for name, above in axioms.dependents.items() if literal.predicate in above} if axioms else ()
        return tuple(
            schema.name
            for schema in domain.actions.values()
            if any(atom.predicate in needs for effect in schema.effects for atom in (*effect.add, *effect.delete))
        )
    return tuple(s.name for s in domain.actions.values() if any(s.changing(literal.predicate, literal.positive)))


def giving(domain: Domain, literal: Literal) -> tuple[str, ...]:
    """The actions that can make a literal true, with its arguments where they belong: ``unstack(a, ?y)``."""
    found = []
    for schema in domain.actions.values():
        for _, bound in schema.achieving(literal.key, literal.positive):
            found.append(str(Action(schema.name, tuple(bound.get(p.name, p.name) for p in schema.parameters))))
    return tuple(dict.fromkeys(found))


Goal = Sequence[Literal] | Formula
"""A conjunction of literals, or any formula over the objects of a world."""


def simplest(goal: Goal) -> Goal:
    """The literals of a goal that is a conjunction of them."""
    literals = literals_of(goal) if isinstance(goal, Formula) else None
    return goal if literals is None else literals


def unmet_goal(transition: Transition, state: State, goal: Goal) -> tuple[Literal, ...]:
    """The literals of a goal that do not hold in a state; of a formula that does not hold, some that would have to."""
    if isinstance(goal, Formula):
        return () if transition.holds(state, goal, {}) else tuple(transition.explain(state, goal, {}))
    return tuple(g for g in goal if (g.key in state) != g.positive)


def goal_atoms(domain: Domain, world: World, goal: Goal) -> Iterable[Literal]:
    """The literals of a goal, with all instances of its variables, that poses decide."""
    return _instances(domain, world, goal, {}) if isinstance(goal, Formula) else goal


def _instances(
    domain: Domain, world: World, formula: Formula, variables: Mapping[str, TypedVariable]
) -> Iterator[Literal]:
    """All instances of the atoms of a formula that poses decide."""
    if isinstance(formula, Quantified):
        variables = {**variables, **{v.name: v for v in formula.variables}}
    for part in parts_of(formula):
        yield from _instances(domain, world, part, variables)
    if isinstance(formula, Atom) and formula.predicate in world.derived:
        free = [t for t in dict.fromkeys(formula.terms) if t in variables]
        for names in product(*(domain.candidates(variables[t], world.objects) for t in free)):
            yield Literal(formula.predicate, substitute(formula.terms, dict(zip(free, names))))


class Validator:
    """Validates plans from one initial world and caches what it computes of it. Not thread-safe.

    Where a step or the goal fails because a fact is unknown (see assumptions.py), the fact is assumed to hold at the
    start and the plan is validated again, so that a plan fails only where it must. A goal literal that no step achieves
    counts as unmet, assumed or not.
    """

    def __init__(self, domain: Domain, world: World) -> None:
        self._domain, self._world = domain, completed(domain, world)
        self._transition = Transition(domain, self._world)
        self._state = self._transition.state()
        self._unknown = Assumptions(self._transition, self._state)

    def check(self, actions: Sequence[Action], goal: Goal = ()) -> Validation:
        """Run a plan through the transition function: the first failing step with its causes, then the goal."""
        assumed: frozenset[AtomKey] = frozenset()
        goal = simplest(goal)
        self._know(goal)
        while True:
            found, more = self._checked(actions, goal, assumed)
            if not more:
                break
            assumed |= more
        for fact in sorted(assumed) if found.possible and len(assumed) > 1 else ():  # what turned out not to be needed
            fewer, _ = self._checked(actions, goal, assumed - {fact})
            if fewer.possible:
                found, assumed = fewer, assumed - {fact}
        return found

    def _know(self, goal: Goal) -> None:
        """List the derived facts (from poses) that a goal refers to."""
        world = self._world.with_derived(goal_atoms(self._domain, self._world, goal))
        for fact in world.facts - self._world.facts if world is not self._world else ():
            self._state.add(fact.key)
        self._world = world

    def _checked(
        self, actions: Sequence[Action], goal: Goal, assumed: frozenset[AtomKey]
    ) -> tuple[Validation, frozenset[AtomKey]]:
        """The result under assumptions, and further assumptions needed to get beyond a failure; restores the state."""
        changes: list[Change] = []
        for fact in assumed:
            self._state.add(fact)
        try:
            found = self._run(actions, goal, changes, assumed)
            more: frozenset[AtomKey] = frozenset()
            if not found.ok and self._unknown.any:
                more = self._needed(actions, found, changes)
            return found, more
        finally:
            self._unknown.bar(())
            for change in reversed(changes):
                self._transition.undo(self._state, change)
            for fact in assumed:
                self._state.discard(fact)

    def _run(
        self, actions: Sequence[Action], goal: Goal, changes: list[Change], assumed: frozenset[AtomKey]
    ) -> Validation:
        failed: int | None = None
        missing: Sequence[Literal] = ()
        broken: tuple[Broken, ...] = ()
        reasons = ""
        for index, action in enumerate(actions):
            try:
                missing = self._transition.unmet(self._state, action)
            except PlanweaveError as error:
                reasons = str(error).removeprefix(f"{action}: ")
                broken = error.broken if isinstance(error, RuleError) else ()
            if missing or reasons:
                failed = index
                break
            changes.append(self._transition.apply(self._state, action))
        unmet = self._unmet(goal, changes, assumed)
        if failed is None:
            explain = partial(self._transition.explain, self._state)
            missing = [x for g in unmet for x in explain(Atom(g.predicate, g.args), {}, g.positive)]
        causes = tuple(_cause(self._domain, self._world, literal, changes) for literal in dict.fromkeys(missing))
        reasons = reasons or "; ".join(_reason(cause, actions) for cause in causes)
        if failed is not None:
            message = f"step {failed + 1}, {actions[failed]}: {reasons}"
        elif unmet:
            message = f"the goal is not reached: {reasons}"
        else:
            message = "every step can be done" + (" and the goal holds" if goal else "")
        if assumed:
            message += "; assumed of unobserved objects: " + ", ".join(map(str, _literals(assumed)))
        added, deleted = self._difference(changes, assumed)
        self._unknown.bar(_touched(changes))
        maybe = tuple(g for g in unmet if g.positive and self._unknown.any and self._unknown.unknown(g.key))
        return Validation(
            failed is None and not unmet,
            failed,
            causes,
            message,
            self._world,
            added,
            deleted,
            unmet,
            tuple(_literals(assumed)),
            maybe,
            broken,
        )

    def _difference(
        self, changes: Iterable[Change], assumed: frozenset[AtomKey]
    ) -> tuple[frozenset[AtomKey], frozenset[AtomKey]]:
        """Facts that hold now and did not at the start, and the reverse."""
        added: set[AtomKey] = set(assumed)
        deleted: set[AtomKey] = set()
        for change in changes:
            added = (added - change.deleted) | change.added
            deleted = (deleted | change.deleted) - change.added
        for name in self._domain.derived:
            before = {(name, *f.args) for f in self._world.by_predicate.get(name, ())}
            added |= self._state.of(name) - before
            deleted |= before - self._state.of(name)
        return frozenset(added), frozenset(deleted - assumed)

    def _unmet(self, goal: Goal, changes: Sequence[Change], assumed: frozenset[AtomKey]) -> tuple[Literal, ...]:
        """Goal literals that do not hold now, or that were only assumed."""
        only_assumed = assumed - _touched(changes)
        for fact in only_assumed:
            self._state.discard(fact)
        unmet = unmet_goal(self._transition, self._state, goal)
        for fact in only_assumed:
            self._state.add(fact)
        return unmet

    def _needed(self, actions: Sequence[Action], found: Validation, changes: list[Change]) -> frozenset[AtomKey]:
        """Unknown facts under which the plan gets further; reverts changes to inspect earlier states."""
        lacking = [c.literal.key for c in found.causes if c.literal.positive]
        ways = [frozenset[AtomKey]() for _ in range(2)]  # that a step brings it about; that it holds without
        self._unknown.bar(_touched(changes))
        if found.failed_step is not None and found.causes:
            action = actions[found.failed_step]
            binding = self._domain.actions[action.name].binding(action.args)
            parts = (
                self._unknown.repair(self._state, part, binding)
                for part in self._transition.failing(self._state, action)
            )
            ways[1] = next((p for p in parts if p), ways[1])
        while changes:
            change = changes.pop()
            self._transition.undo(self._state, change)
            self._unknown.bar(_touched(changes))
            for fact in lacking:
                if fact in change.deleted:
                    needed = self._unknown.prevents(self._state, actions[len(changes)], fact)
                    if needed:
                        return needed  # what a step need not have destroyed comes first
                elif not ways[0]:
                    ways[0] = self._unknown.brings_about(self._state, actions[len(changes)], fact) or ways[0]
        return ways[1] or ways[0]


def _touched(changes: Iterable[Change]) -> set[AtomKey]:
    """Facts whose value the changes determined."""
    return {fact for change in changes for fact in (*change.added, *change.denied)}


def validate(domain: Domain, world: World, actions: Sequence[Action], goal: Goal = ()) -> Validation:
    """Check one plan; `Validator` for several from the same world."""
    return Validator(domain, world).check(actions, goal)


def _cause(domain: Domain, world: World, literal: Literal, changes: list[Change]) -> Cause:
    key, able = literal.key, achievers(domain, literal)
    made_by = tuple(name for name in able if name not in world.actions_off)
    refused = tuple(name for name in able if name in world.actions_off)
    for index in range(len(changes) - 1, -1, -1):
        change = changes[index]
        if key in (change.deleted if literal.positive else change.added):
            return Cause(literal, index, made_by, refused)
    return Cause(literal, None, made_by, refused)


def _reason(cause: Cause, actions: Sequence[Action]) -> str:
    if cause.destroyed_by is not None:
        return f"{cause.literal} does not hold since step {cause.destroyed_by + 1}, {actions[cause.destroyed_by]}"
    if cause.refused and not cause.achievers:
        return f"{cause.literal} does not hold ({refusal(cause.refused)})"
    way = f" (achieved by {', '.join(cause.achievers)})" if cause.achievers else " (no action can achieve it)"
    return f"{cause.literal} does not hold{way}"
