"""Checks of a domain's notes, the YAML file beside its PDDL: every name in it must mean something in the domain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from planweave.core.base.errors import DomainError, ParseError, UnknownNameError
from planweave.core.pddl.formula import Atom
from planweave.core.symbolic.schemas import ActionSchema, Predicate
from planweave.core.symbolic.world import Literal

# What an entry may have; config/domains/tabletop.yaml explains each.
ACTION_KEYS = ("phrase", "aliases", "inverse", "possibly", "words", "needs", "effect", "untouched", "meanwhile")
PREDICATE_KEYS = ("phrase", "negative", "goal", "state", "unknown", "felt")
_PLACEHOLDER = re.compile(r"{([^{}]*)}")


@dataclass(frozen=True)
class NotesSource:
    """A text with the name used for it in error messages."""

    name: str
    text: str

    def at(self, *keys: str, word: str = "") -> str:
        """Name and line of the last of some keys, each looked for below the one before, or of a word from there on."""
        found = [rf"(?:^\s*|[{{,]\s*)['\"]?{re.escape(key)}['\"]?\s*[:,]" for key in keys]
        found += [rf"(?<![\w-]){re.escape(word)}(?![\w-])"] if word else []
        lines, at = self.text.splitlines(), 0
        for pattern in found:
            at = next((n for n in range(at, len(lines)) if re.search(pattern, lines[n].partition(" #")[0])), at)
        return f"{self.name}:{at + 1}"


@dataclass(frozen=True)
class _NotesEntry:
    """A position in the notes: the path of keys to it."""

    source: NotesSource
    path: tuple[str, ...]

    def known(self, kind: str, name: str, names: Iterable[str]) -> None:
        """Raise DomainError, with the line, for a name that is none of these."""
        if name not in (known := set(names)):
            raise self.wrong(str(UnknownNameError(kind, name, known)), name)

    def wrong(self, message: str, word: str = "") -> DomainError:
        return DomainError(f"{self.source.at(*self.path, word=word)}: {message}")


def check_notes(
    notes: Mapping[str, Any],
    actions: Mapping[str, ActionSchema],
    predicates: Mapping[str, Predicate],
    types: Iterable[str],
    source: NotesSource,
) -> None:
    """Raise DomainError, with file and line, for a name that the domain does not have, a key that no entry has, and an
    alias that means something else.
    """
    named = {"actions": ("action", actions), "predicates": ("predicate", predicates), "classes": ("type", types)}
    for key, (kind, names) in named.items():
        for name in notes.get(key) or {}:
            _NotesEntry(source, (key,)).known(kind, name, names)
    for name, row in (notes.get("actions") or {}).items():
        _check_action(actions[name], row or {}, actions, predicates, _NotesEntry(source, ("actions", name)))
    for name, row in (notes.get("predicates") or {}).items():
        entry, predicate = _NotesEntry(source, ("predicates", name)), predicates[name]
        _check_keys(row or {}, PREDICATE_KEYS, entry)
        _check_placeholders(predicate, f"{predicate.phrase} {predicate.negative}", entry)
    for key, kind, names in (("by", "action", actions), ("never_on", "predicate", predicates)):
        for name in (notes.get("aside") or {}).get(key) or ():
            _NotesEntry(source, ("aside",)).known(kind, name, names)
    _check_aliases(actions, source)
    for said, template in ((notes.get("goals") or {}).get("verbs") or {}).items():
        first = str(said).split(",")[0]
        _check_verb(str(said), str(template), predicates, _NotesEntry(source, ("goals", "verbs", first)))


def sayable(verbs: Mapping[str, Any], predicates: Iterable[str]) -> dict[str, Any]:
    """Verbs of another domain whose goals this one has."""
    known = set(predicates)
    return {said: goal for said, goal in verbs.items() if known.issuperset(_predicates_of(str(goal)))}


def _predicates_of(goal: str) -> list[str]:
    return re.findall(r"([\w-]+)\s*\(", goal) or [goal]


def _check_keys(row: Mapping[str, Any], allowed: Iterable[str], entry: _NotesEntry) -> None:
    for key in row:
        entry.known("key", str(key), allowed)


def _check_placeholders(declared: ActionSchema | Predicate, text: str, entry: _NotesEntry) -> None:
    for placeholder in _PLACEHOLDER.findall(text):
        entry.known(f"parameter of {declared.name}", placeholder, [p.name[1:] for p in declared.parameters])


def _check_action(
    schema: ActionSchema,
    row: Mapping[str, Any],
    actions: Mapping[str, ActionSchema],
    predicates: Mapping[str, Predicate],
    entry: _NotesEntry,
) -> None:
    _check_keys(row, ACTION_KEYS, entry)
    _check_placeholders(schema, f"{schema.phrase} {schema.needs} {schema.effect}", entry)
    own = {p.name for p in schema.parameters}
    for rule in schema.inverse or ():
        bound = own.union(term for atom in rule.when for term in atom.terms)
        for atom in rule.when:
            _check_atom("predicate", atom, predicates, None, entry)
        for atom in rule.do:
            _check_atom("action", atom, actions, bound, entry)
    for atom in (*schema.meanwhile, *(atom for atom, _ in schema.possibly)):
        _check_atom("predicate", atom, predicates, own, entry)
    for name in schema.untouched:
        entry.known(f"parameter of {schema.name}", name[1:], [p.name[1:] for p in schema.parameters])


def _check_atom(
    kind: str,
    atom: Atom,
    declared: Mapping[str, ActionSchema] | Mapping[str, Predicate],
    terms: Iterable[str] | None,
    entry: _NotesEntry,
) -> None:
    """terms: parameters that may stand in it, None for any."""
    entry.known(kind, atom.predicate, declared)
    wanted = declared[atom.predicate].parameters
    if len(atom.terms) != len(wanted):
        raise entry.wrong(f"{atom.predicate} takes {len(wanted)} argument(s), not {len(atom.terms)}", atom.predicate)
    for term in atom.terms if terms is not None else ():
        if term.startswith("?"):
            entry.known("parameter", term.lstrip("?"), [name.lstrip("?") for name in terms or ()])


def _check_aliases(actions: Mapping[str, ActionSchema], source: NotesSource) -> None:
    """An alias may mean one action only, and no other action's name."""
    meant: dict[str, str] = {}
    for schema in actions.values():
        for alias in schema.aliases:
            other = alias if alias in actions else meant.setdefault(alias, schema.name)
            if other != schema.name:
                raise _NotesEntry(source, ("actions", schema.name)).wrong(
                    f"the alias {alias!r} of {schema.name} means {other} already; take it away from one of them", alias
                )


def _check_verb(said: str, template: str, predicates: Mapping[str, Predicate], entry: _NotesEntry) -> None:
    """The goal of a verb: a predicate of one thing, or literals joined by "&" or "|" with things in braces, those of
    the verb by a letter, others by their name.
    """
    for letter in set(_PLACEHOLDER.findall(template)) - set(_PLACEHOLDER.findall(said)) - {"x"}:
        if len(letter) == 1:
            raise entry.wrong(f"the goal {template!r} of this verb has a {{{letter}}} that {said!r} has not")
    texts = re.split(r"[&|]", template) if "(" in template else [f"{template}({{x}})"]
    for text in texts:
        plain = _PLACEHOLDER.sub("x", text)
        try:
            literal = Literal.parse(plain)
        except ParseError as error:
            raise entry.wrong(f"the goal {template!r} of this verb cannot be read: {error}") from None
        entry.known("predicate", literal.predicate, predicates)
        wanted = len(predicates[literal.predicate].parameters)
        if len(literal.args) != wanted:
            raise entry.wrong(f"{literal.predicate} takes {wanted} argument(s), not {len(literal.args)}")
