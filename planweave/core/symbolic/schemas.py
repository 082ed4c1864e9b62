"""Actions and predicates of a domain, with what its notes say of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from planweave.core.pddl.formula import Atom, Effect, Formula, TypedVariable, unified


def filled(template: str, parameters: Sequence[TypedVariable], words: Iterable[str]) -> str:
    """A phrase with words in the places of its parameters."""
    for parameter, word in zip(parameters, words):
        template = template.replace("{" + parameter.name[1:] + "}", word)
    return template


@dataclass(frozen=True)
class Predicate:
    """A predicate with its phrases; placeholders in phrases are parameter names without ``?``.

    goal: may occur in a goal. state: "yes" (described in observations when it holds), "negative" (when it does not
    hold), or "no". unknown: message for people where neither it nor the predicates it excludes hold. felt: fingers and
    joints tell it, no camera does.
    """

    name: str
    parameters: tuple[TypedVariable, ...]
    phrase: str
    negative: str
    goal: bool = False
    state: str = "no"
    unknown: str = ""
    felt: bool = False


@dataclass(frozen=True)
class InverseRule:
    """Actions `do` that undo an action if all of `when` (with free variables, ``?x``) held before it."""

    when: tuple[Atom, ...]
    do: tuple[Atom, ...]


@dataclass(frozen=True)
class ActionSchema:
    """An action: precondition, effects, phrase; inverse is None where no rule can undo it.

    words: a model is offered the action only where a sentence contains one of these; empty: always. needs, effect: for
    prompts, the precondition in words (empty: from the words for its parts), and what the phrase does not say.
    untouched: parameters whose objects the body does not touch; meanwhile: what holds while the action is carried out,
    and no longer after it. cost: the summands of its cost, numbers and functions of its parameters; none in a domain
    without costs.
    """

    name: str
    parameters: tuple[TypedVariable, ...]
    precondition: Formula
    effects: tuple[Effect, ...]
    phrase: str
    aliases: tuple[str, ...] = ()
    inverse: tuple[InverseRule, ...] | None = None
    possibly: tuple[tuple[Atom, bool], ...] = ()
    words: tuple[str, ...] = ()
    needs: str = ""
    effect: str = ""
    untouched: tuple[str, ...] = ()
    meanwhile: tuple[Atom, ...] = ()
    cost: tuple[float | Atom, ...] = ()

    def binding(self, args: tuple[str, ...]) -> dict[str, str]:
        return {p.name: a for p, a in zip(self.parameters, args)}

    def achieving(
        self, fact: Sequence[str], positive: bool, given: Mapping[str, str] = MappingProxyType({})
    ) -> Iterator[tuple[Effect, dict[str, str]]]:
        """The certain effects that make a ground atom (predicate, argument, …) true or false, each with the values of
        variables under which it does, beside the given ones.
        """
        for effect, atom in self.changing(fact[0], positive):
            if (bound := unified(atom.terms, fact[1:], given)) is not None:
                yield effect, bound

    def changing(self, predicate: str, positive: bool) -> Sequence[tuple[Effect, Atom]]:
        """The atoms of a predicate that certain effects add (delete where not positive), each with its effect."""
        return self._changes.get((predicate, positive), ())

    @cached_property
    def _changes(self) -> Mapping[tuple[str, bool], Sequence[tuple[Effect, Atom]]]:
        found: dict[tuple[str, bool], list[tuple[Effect, Atom]]] = {}
        for effect in self.effects:
            for positive, atoms in ((True, effect.add), (False, effect.delete)):
                for atom in atoms:
                    found.setdefault((atom.predicate, positive), []).append((effect, atom))
        return found
