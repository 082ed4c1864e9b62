"""The classical planner's input under rules: preconditions that forbid what the rules forbid.

Objects that a rule describes satisfy a predicate of its own, ``rule-thing-1``, whose facts belong to the problem; so do
objects that are too high for a rule about heights, alone or on another one. Of higher stacks the planner does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from planweave.core.descriptions import Description
from planweave.core.domain import ActionSchema, Domain
from planweave.core.formula import And, Atom, Effect, Equal, Formula, Not, Parameter, Quantified, substitute
from planweave.core.heights import SLACK, Heights, predicates
from planweave.core.reduced import block
from planweave.core.rules import Forbidden, highest
from planweave.core.state import Members
from planweave.core.world import World

_TOO_HIGH = ("rule-too-high", "rule-too-high-on")  # facts of one object, and of one on another one


@lru_cache(maxsize=16)
def ruled_pddl(domain: Domain, text: str) -> str:
    """A PDDL text of the domain, of its own actions or determinised ones, with what its rules forbid."""
    marks = _marks(domain)
    if not domain.rules:
        return text
    declared = "".join(f" ({name} ?x)" for name in marks.values())
    if _limit(domain) is not None:
        declared += f" ({_TOO_HIGH[0]} ?x) ({_TOO_HIGH[1]} ?x ?y)"
    text = text.replace("(:predicates", f"(:predicates{declared}", 1)
    for schema in domain.actions.values():
        conditions = " ".join(map(_text, _conditions(domain, schema, marks)))
        variants = (schema.name, *(f"{schema.name}-outcome-{k}" for k in range(len(schema.possibly))))
        for name in variants if conditions else ():
            if f"(:action {name}" in text:
                text = _with_condition(text, name, conditions)
    return text


def rule_facts(domain: Domain, world: World) -> list[str]:
    """The facts of a problem that say which objects the rules describe."""
    found = [
        f"({name} {thing.name})"
        for description, name in _marks(domain).items()
        for thing in world.objects
        if description.fits(domain, thing)
    ]
    if (most := _limit(domain)) is not None:
        for things, top in Heights(domain, world).pairs(Members(domain, world.objects)):
            if top > most + SLACK:
                found.append(f"({_TOO_HIGH[len(things) - 1]} {' '.join(things)})")
    return found


def _limit(domain: Domain) -> float | None:
    """The height in m that rules allow, None where none is limited or the domain says nothing of heights."""
    return highest(domain.rules) if predicates(domain) else None


@lru_cache(maxsize=16)
def _marks(domain: Domain) -> dict[Description, str]:
    """The predicate of each description in the rules but "anything"."""
    found = [d for rule in domain.rules for d in (*(t for f in rule.forbidden for t in f.things), *rule.untouched)]
    return {d: f"rule-thing-{k}" for k, d in enumerate(dict.fromkeys(d for d in found if not d.is_anything), 1)}


def _with_condition(text: str, name: str, conditions: str) -> str:
    """The text with further conditions of one action."""
    action = block(text, f"(:action {name}")
    at = action.index(":precondition") + len(":precondition")
    start = action.index("(", at)
    depth = 0
    for end in range(start, len(action)):
        depth += {"(": 1, ")": -1}.get(action[end], 0)
        if depth == 0:
            break
    whole = f"{action[:at]} (and {action[start : end + 1]} {conditions}){action[end + 1 :]}"
    return text.replace(action, whole, 1)


def _conditions(domain: Domain, schema: ActionSchema, marks: dict[Description, str]) -> Iterator[Formula]:
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
        renamed = {v.name: f"{v.name}-again" for v in effect.variables}
        variables = tuple(Parameter(renamed[v.name], v.types) for v in effect.variables)
        for added in effect.add:
            if added.predicate == atom.predicate:
                same = tuple(map(Equal, substitute(added.terms, renamed), atom.terms))
                some = And((*(_renamed(p, renamed) for p in effect.condition.parts), *same))
                yield Quantified(False, variables, some) if variables else some


def _renamed(formula: Formula, names: dict[str, str]) -> Formula:
    if isinstance(formula, Atom):
        return Atom(formula.predicate, substitute(formula.terms, names))
    if isinstance(formula, Equal):
        return Equal(names.get(formula.left, formula.left), names.get(formula.right, formula.right))
    if isinstance(formula, Not):
        return Not(_renamed(formula.part, names))
    if isinstance(formula, Quantified):
        inner = {k: v for k, v in names.items() if k not in {p.name for p in formula.variables}}
        return Quantified(formula.every, formula.variables, _renamed(formula.part, inner))
    return type(formula)(tuple(_renamed(part, names) for part in formula.parts))


def _fitting(
    things: tuple[Description, ...], terms: tuple[str, ...], marks: dict[Description, str]
) -> tuple[Formula, ...]:
    return tuple(Atom(marks[d], (term,)) for d, term in zip(things, terms) if d in marks)


def _text(formula: Formula) -> str:
    """A formula as PDDL."""
    if isinstance(formula, Atom):
        return f"({' '.join((formula.predicate, *formula.terms))})"
    if isinstance(formula, Equal):
        return f"(= {formula.left} {formula.right})"
    if isinstance(formula, Not):
        return f"(not {_text(formula.part)})"
    if isinstance(formula, Quantified):
        variables = " ".join(f"{v.name}{_types(v)}" for v in formula.variables)
        return f"({'forall' if formula.every else 'exists'} ({variables}) {_text(formula.part)})"
    return f"({'and' if isinstance(formula, And) else 'or'} {' '.join(map(_text, formula.parts))})"


def _types(variable: Parameter) -> str:
    names = sorted(variable.types)
    return "" if not names else f" - {names[0]}" if len(names) == 1 else f" - (either {' '.join(names)})"
