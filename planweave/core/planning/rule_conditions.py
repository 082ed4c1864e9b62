"""The rules of a domain as preconditions for the classical planner.

Objects that a rule describes satisfy a predicate of its own, whose facts belong to the problem; so do objects that are
too high for a rule about heights, alone or on another one. Of higher stacks the planner does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from planweave.core.pddl.formula import (
    And,
    Atom,
    Effect,
    Equal,
    Formula,
    Not,
    Quantified,
    TypedVariable,
    renamed,
    substitute,
)
from planweave.core.symbolic.descriptions import fits
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.heights import SLACK, Heights, predicates
from planweave.core.symbolic.rules import Description, Forbidden, highest
from planweave.core.symbolic.schemas import ActionSchema
from planweave.core.symbolic.state import AtomKey, Members
from planweave.core.symbolic.world import World

_TOO_HIGH = ("-too-high", "-too-high-on")  # facts of one object, and of one on another one; no domain has such names


@lru_cache(maxsize=16)
def rule_predicates(domain: Domain) -> dict[str, tuple[TypedVariable, ...]]:
    """The predicates that `rule_conditions` adds to those of the domain."""
    one, two = TypedVariable("?x"), TypedVariable("?y")
    found: dict[str, tuple[TypedVariable, ...]] = dict.fromkeys(_marks(domain).values(), (one,))
    if _limit(domain) is not None:
        found.update({_TOO_HIGH[0]: (one,), _TOO_HIGH[1]: (one, two)})
    return found


def rule_facts(domain: Domain, world: World) -> Iterator[AtomKey]:
    """The facts of these predicates in a world."""
    for description, name in _marks(domain).items():
        yield from ((name, thing.name) for thing in world.objects if fits(domain, description, thing))
    if (most := highest(domain.rules)) is not None and (words := predicates(domain)):
        for things, top in Heights(domain, world, words).pairs(Members(domain, world.objects)):
            if top > most + SLACK:
                yield (_TOO_HIGH[len(things) - 1], *things)


def rule_conditions(domain: Domain, schema: ActionSchema) -> Iterator[Formula]:
    """Preconditions under which an action breaks no rule."""
    marks = _marks(domain)
    for rule in domain.rules:
        for thing in rule.untouched:
            for parameter in schema.parameters:
                if parameter.name not in schema.untouched:
                    yield Not(And(_fitting((thing,), (parameter.name,), marks)))
        for each in rule.forbidden:
            yield from _forbidding(schema, each, marks)
    if _limit(domain) is not None:
        for predicate, mark in zip(predicates(domain) or (), _TOO_HIGH):
            for effect in _bringing(schema):
                for atom in effect.add:
                    if atom.predicate == predicate:
                        yield _never(effect, (*effect.condition.parts, Atom(mark, atom.terms)))


def _limit(domain: Domain) -> float | None:
    """The height in m that rules allow, None where none is limited or the domain says nothing of heights."""
    return highest(domain.rules) if predicates(domain) else None


@lru_cache(maxsize=16)
def _marks(domain: Domain) -> dict[Description, str]:
    """The predicate of each description in the rules but "anything"."""
    found = [d for rule in domain.rules for d in (*(t for f in rule.forbidden for t in f.things), *rule.untouched)]
    return {d: f"-rule-{k}" for k, d in enumerate(dict.fromkeys(d for d in found if not d.is_anything), 1)}


def _bringing(schema: ActionSchema) -> tuple[Effect, ...]:
    """The effects of an action, with what holds meanwhile as one more."""
    return (*schema.effects, *([Effect((), And(), schema.meanwhile, ())] if schema.meanwhile else []))


def _never(effect: Effect, parts: Iterable[Formula]) -> Formula:
    """That parts of an effect's condition never hold together."""
    some = And(tuple(parts))
    return Quantified(True, effect.variables, Not(some)) if effect.variables else Not(some)


def _forbidding(schema: ActionSchema, each: Forbidden, marks: dict[Description, str]) -> Iterator[Formula]:
    """What has to hold for an action not to bring a forbidden literal about, for each effect that could."""
    for effect in _bringing(schema):
        for atom in effect.add if each.positive else effect.delete:
            if atom.predicate != each.predicate:
                continue
            parts: list[Formula] = [*effect.condition.parts, *_fitting(each.things, atom.terms, marks)]
            if each.positive:
                parts.append(Not(atom))
            else:
                parts += [atom, *(Not(again) for again in _added_again(schema, atom))]
            yield _never(effect, parts)


def _added_again(schema: ActionSchema, atom: Atom) -> Iterator[Formula]:
    """The conditions under which an action adds what it deletes, which then goes on to hold; none where it ends
    in between.
    """
    for effect in schema.effects if not schema.meanwhile else ():
        names = {v.name: f"{v.name}--again" for v in effect.variables}
        variables = tuple(TypedVariable(names[v.name], v.types) for v in effect.variables)
        for added in effect.add:
            if added.predicate == atom.predicate:
                same = tuple(map(Equal, substitute(added.terms, names), atom.terms))
                some = And((*(renamed(p, names) for p in effect.condition.parts), *same))
                yield Quantified(False, variables, some) if variables else some


def _fitting(
    things: tuple[Description, ...], terms: tuple[str, ...], marks: dict[Description, str]
) -> tuple[Formula, ...]:
    return tuple(Atom(marks[d], (term,)) for d, term in zip(things, terms) if d in marks)
