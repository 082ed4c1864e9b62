"""Checks of goal literals: known names, right types, no mutually exclusive literals.

Mutual exclusions are declared in the domain's YAML file under ``goals``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from planweave.core.base.errors import GoalError, InvalidActionError, UnknownNameError
from planweave.core.checks.validation import achievers
from planweave.core.symbolic.descriptions import nouns_of
from planweave.core.symbolic.domain import Domain, refusal, spoken
from planweave.core.symbolic.world import Literal, World
from planweave.goals.lexicon import needed_properties


def checked_goal(domain: Domain, world: World, literals: Iterable[Literal]) -> tuple[Literal, ...]:
    """The literals without duplicates; raises GoalError that says what is wrong and what would be right."""
    goal = tuple(dict.fromkeys(literals))
    for literal in goal:
        _check_literal(domain, world, literal)
    check_possible(domain, world, goal)
    return goal


def check_possible(domain: Domain, world: World, goal: Sequence[Literal]) -> None:
    """Raise GoalError where literals with known names and of the right types ask for nothing, or for what can never
    hold.
    """
    if not goal:
        raise GoalError("the goal is empty: say what should be where, for example as a sentence about the objects seen")
    for literal in goal:
        if why := misfit(domain, world, literal) if literal.positive else "":
            raise GoalError(f"{literal} can never hold: {why}")
    notes = domain.extra.get("goals") or {}
    exclusive = set(notes.get("exclusive", ()))
    for one, two in combinations(goal, 2):
        if one == two.negated():
            raise _contradiction(domain, one, two)
        if not (one.positive and two.positive):
            continue
        names = {one.predicate, two.predicate}
        if names <= exclusive and one.args[:1] == two.args[:1] and not _nested(world, notes.get("nested"), one, two):
            raise _contradiction(domain, one, two)
        if one.predicate == two.predicate and one.predicate in notes.get("once", ()):
            raise _contradiction(domain, one, two)
        if (
            len(one.args) == len(two.args) == 2
            and one.args[1] == two.args[1]
            and names <= exclusive
            and Literal(str(notes.get("room_for_one", "")), one.args[1:]) in world.facts
        ):
            raise _contradiction(domain, one, two, f"{one.args[1]} has room for one")
    for group in domain.never_together:
        for found in product(*([g for g in goal if str(g).split("(")[0] == name] for name in group)):
            if len({g.args[:1] for g in found if g.args}) == 1 or not any(g.args for g in found):
                raise _contradiction(domain, found[0], found[1])
    for (seat, posture), needed in _postures(notes):
        for args in [g.args for g in goal if g.positive and g.predicate == seat and Literal(posture) in goal]:
            if Literal(needed, args) not in world.facts:
                raise GoalError(f"the goal can never hold: {domain.phrase(Literal(needed, args, False))}")
    for names in [
        {p.name for p in domain.predicates.values() if p.goal} - set(notes.get("beside", ())),
        *({name} for name in notes.get("one_way", ())),
    ]:
        _check_cycles([g for g in goal if g.predicate in names])


def _postures(notes: Mapping[str, Any]) -> list[tuple[tuple[str, str], str]]:
    """Predicate of a seat and posture -> property that the seat must have for it."""
    return [((seat, p), needed) for seat, of in (notes.get("postures") or {}).items() for p, needed in of.items()]


def _check_literal(domain: Domain, world: World, literal: Literal) -> None:
    try:
        domain.check_literal(literal, world)
    except (UnknownNameError, InvalidActionError) as error:
        raise GoalError(str(error)) from None
    if not domain.predicates[literal.predicate].goal:
        known = ", ".join(p.name for p in domain.predicates.values() if p.goal)
        raise GoalError(f"{literal} cannot be a goal; goals can be made of: {known}")
    if len(set(literal.args)) < len(literal.args):
        raise GoalError(f"{literal} can never hold: {literal.args[0]} twice")
    able = set(achievers(domain, literal))
    if not literal.positive and only_seen(domain, literal):
        raise GoalError(
            f"{literal} cannot be a goal: no action makes it so, and where it is not seen to be it may be so"
        )
    if able <= world.actions_off and literal.positive and not world.holds(literal):
        raise GoalError(f"{literal} cannot be reached: {refusal(sorted(able)) if able else 'no action makes it so'}")


def only_seen(domain: Domain, literal: Literal) -> bool:
    """Whether a goal's condition is one that no action changes: it holds where it is surely seen, else nobody knows."""
    goal = domain.predicates[literal.predicate].goal
    return goal and not achievers(domain, literal) and not achievers(domain, literal.negated())


def misfit(domain: Domain, world: World, literal: Literal) -> str:
    """Why objects are unsuitable for a goal ("the sofa cannot be eaten"), "" where they fit; "" arguments fit always.

    Requirements on arguments come from ``goals: made_for`` and ``goals: never_put`` of the domain's YAML file and from
    the preconditions of the actions that achieve the goal.
    """
    predicate = domain.predicates[literal.predicate]
    notes = domain.extra.get("goals") or {}
    asked: dict[str, list[list[str]]] = notes.get("made_for") or {}
    for of, places in (notes.get("never_put") or {}).items():
        if len(literal.args) == 2 and all(literal.args) and Literal(of, literal.args[:1]) in world.facts:
            place = world.by_name[literal.args[1]]
            kinds = {place.attributes.get("category"), *nouns_of(domain, place)}
            if not kinds.isdisjoint(places):
                return f"nothing that lives is put in or on the {spoken(place.name)}"
    for properties, name in zip(asked.get(predicate.name, ()), literal.args):
        if name and properties and not any(Literal(p, (name,)) in world.facts for p in properties):
            return domain.phrase(Literal(properties[0], (name,), False))
    if asked and len(literal.args) == 1 and literal.args[0] and predicate.name not in asked:
        needs = needed_properties(domain, predicate)
        for of in needs:
            if all(Literal(p, literal.args) in world.facts for p in of):
                return ""
        for of in needs:
            return next(
                domain.phrase(Literal(p, literal.args, False))
                for p in of
                if Literal(p, literal.args) not in world.facts
            )
    return ""


def _nested(world: World, predicate: str | None, one: Literal, two: Literal) -> bool:
    if not predicate or one.predicate != two.predicate or len(one.args) != 2:
        return False
    return any(
        Literal(predicate, pair) in world.facts for pair in ((one.args[1], two.args[1]), (two.args[1], one.args[1]))
    )


def _check_cycles(goal: Sequence[Literal]) -> None:
    below = {g.args[0]: g.args[1] for g in goal if g.positive and len(g.args) == 2}
    for start in below:
        chain = [start]
        while chain[-1] in below:
            chain.append(below[chain[-1]])
            if chain[-1] == start:
                raise GoalError(f"the goal can never hold: {f' {goal[0].predicate} '.join(chain)} is a circle")
            if chain[-1] in chain[:-1]:
                break


def _contradiction(domain: Domain, one: Literal, two: Literal, why: str = "") -> GoalError:
    return GoalError(
        f"the goal can never hold: {one} and {two} exclude each other"
        + (f" ({why})" if why else f" ({domain.phrase(one)}; {domain.phrase(two)})")
    )
