"""Lexicon of the goal grammar: words of a domain (phrases, aliases, names) and of general English."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from planweave.core.base.yaml_files import read_yaml
from planweave.core.pddl.formula import Atom, conjuncts
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.schemas import ActionSchema, Predicate
from planweave.core.symbolic.transition import fixed_predicates

ENGLISH = Path(__file__).resolve().parent / "english.yaml"
Words = tuple[str, ...]


@dataclass(frozen=True)
class Pattern:
    """A verb with slots for its noun phrases, ("switch", "{x}", "on"), and its goal literals."""

    parts: Words
    template: str


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Meanings of the words of a sentence.

    parts: predicate of a part and its whole, "" where the domain has none. relations: words -> predicate between an
    object and a place; "" where the destination decides. away: words -> predicate that shall cease to hold.
    inverse: words -> predicate with swapped arguments. between: words -> predicate of an object and two others. states:
    what "… is open" means; adjectives: predicates of those that "a washed plate" asks for. nouns: synonyms of classes.
    directions: "to the left" -> the predicate of what was moved that way, "" for what no goal can say. words: all words
    of the lexicon.
    """

    english: Mapping[str, Any]
    move: frozenset[Words]
    relations: Mapping[Words, str]
    away: Mapping[Words, str]
    inverse: Mapping[Words, str]
    between: Mapping[Words, str]
    unknown: frozenset[Words]
    patterns: tuple[Pattern, ...]
    states: Mapping[Words, str]
    nouns: Mapping[str, str]
    words: frozenset[str]
    parts: str = ""
    adjectives: frozenset[str] = frozenset()
    directions: Mapping[Words, str] = field(default_factory=dict)

    @cached_property
    def places(self) -> frozenset[Words]:
        return frozenset({*self.relations, *self.away, *self.inverse, *self.between, *self.unknown})


@lru_cache(maxsize=1)
def english() -> Mapping[str, Any]:
    return MappingProxyType(read_yaml(ENGLISH))


def singulars(word: str) -> list[str]:
    irregular = english()["irregular"].get(word)
    forms = [irregular] if irregular else []
    if word.endswith("ies"):
        forms.append(word[:-3] + "y")
    if word.endswith("es"):
        forms.append(word[:-2])
    if word.endswith("s") and not word.endswith("ss"):
        forms.append(word[:-1])
    return forms


def plurals(noun: str) -> list[str]:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return [noun[:-1] + "ies"]
    return [noun + "es"] if noun.endswith(("s", "x", "ch", "sh")) else [noun + "s"]


def lexicon(domain: Domain) -> Lexicon:
    """The lexicon of a domain, derived from its goal predicates and the actions that achieve them."""
    return _lexicon(domain)


@lru_cache(maxsize=16)
def _lexicon(domain: Domain) -> Lexicon:
    words, notes = english(), domain.extra.get("goals") or {}
    unspoken = set(notes.get("unspoken", ()))
    move, relations = {*words["move"]}, dict.fromkeys(words["any_relation"], "")
    between: dict[str, str] = {}
    patterns: dict[Words, str] = {}
    for said, template in (notes.get("verbs") or {}).items():
        template = template if "(" in template else f"{template}({{x}})"
        for parts in _separated(said, bare="{x}" not in template):
            patterns[parts] = template
    for predicate in domain.predicates.values():
        if not predicate.goal or predicate.name in unspoken:
            continue
        makers = [s for s in domain.actions.values() if _makes(s, predicate)]
        if len(predicate.parameters) == 2:
            word = _relation_word(predicate)
            degrees = words["degrees"] if predicate.name in notes.get("than_before", ()) else ()
            for by, synonym in product(("", *degrees), (word, *words["relations"].get(word, ()))):
                relations.setdefault(f"{by} {synonym}".strip(), predicate.name)
            move |= {_spoken(a).split(" ")[0] for s in makers for a in s.aliases} - {_spoken(predicate.name)}
        elif len(predicate.parameters) == 3:
            between.update((w, predicate.name) for w in (predicate.name, *words["between"].get(predicate.name, ())))
        elif len(predicate.parameters) == 1:
            for said in _unary_phrases(makers, {*words["push"], *words["move"]}):
                for parts in _separated(said):
                    patterns.setdefault(parts, f"{predicate.name}({{x}})")
        else:
            for schema in makers:
                for phrase in (schema.phrase, schema.name, *schema.aliases):
                    for variant in _variants(_spoken(phrase), words["travel"]):
                        patterns.setdefault(tuple(variant.split()), f"{predicate.name}()")
    move -= {p[0] for p in patterns} - {*words["move"]}
    away = {word: relations[of] for word, of in words["negated"].items() if of in relations}
    inverse = {
        w: relations[of]
        for of, ws in words["inverse"].items()
        for w in ws
        if of in relations and notes.get("room_for_one")
    }
    known = {*relations, *away, *inverse, *between}
    unknown = set(words["unknown_relations"]) - known
    # The alias "right_of" begins with no verb: "left the cube in the tray" tells what somebody did.
    move -= {w for phrase in (*known, *unknown) for w in phrase.split()[:1]} - {*words["move"]}
    states = _states(domain)
    nouns = {str(k): str(v) for k, v in (notes.get("nouns") or {}).items()}
    tables: list[Iterable[str]] = [move, known, unknown, nouns]
    found = {w for table in tables for phrase in table for w in phrase.split()}
    found |= {w for parts in patterns for w in parts if not w.startswith("{")} | {w for s in states for w in s}
    found |= _english_words(words) | ({"of", "'s"} if notes.get("parts") else set())
    keyed = _keyed
    return Lexicon(
        words,
        frozenset(tuple(m.split()) for m in move),
        keyed(relations),
        keyed(away),
        keyed(inverse),
        keyed(between),
        frozenset(tuple(u.split()) for u in unknown),
        tuple(Pattern(p, t) for p, t in patterns.items()),
        states,
        MappingProxyType(nouns),
        frozenset(found),
        str(notes.get("parts", "")),
        frozenset(notes.get("adjectives", ())),
        _directions(words, notes.get("directions") or {}),
    )


def _directions(words: Mapping[str, Any], moved: Mapping[str, str]) -> Mapping[Words, str]:
    said = {phrase: moved.get(way, "") for way, phrases in words["directions"].items() for phrase in phrases}
    return _keyed({f"{by} {way}".strip(): named for way, named in said.items() for by in ("", *words["degrees"])})


def _keyed(table: Mapping[str, str]) -> Mapping[Words, str]:
    return MappingProxyType({tuple(k.split()): v for k, v in table.items()})


def _english_words(value: Mapping[str, Any]) -> set[str]:
    """All words of english.yaml that have a meaning in a sentence, or that a refusal names: they are no slips."""
    skipped = {
        "foreign",
        "foreign_negations",
        "only_english",
        "colours",
        "same",
        "irregular",
        "contractions",
        "wanted",
        "rules",
    }
    found: set[str] = set()
    for key, of in value.items():
        if key not in skipped:
            nested = [of] if isinstance(of, list) else [[*of], *(v for v in of.values() if isinstance(v, list))]
            found.update(w for rows in nested for row in rows for w in str(row).replace(",", " ").split())
    return {w for w in found if w.isalpha()}


def _separated(said: str, bare: bool = False) -> list[Words]:
    """A verb in parts: "switch on" is "switch on {x}" and "switch {x} on"; commas separate verbs of one meaning.

    bare: intransitive, "stand up".
    """
    found: list[Words] = []
    for phrase in said.split(", "):
        parts = tuple(phrase.split())
        if not bare and not any(p.startswith("{") for p in parts):
            if len(parts) == 2 and parts[1] in ("on", "off", "in", "out", "up", "down", "away", "over"):
                found.append((parts[0], "{x}", parts[1]))
            parts = (*parts, "{x}")
        found.append(parts)
    return found


def _unary_phrases(makers: Iterable[ActionSchema], loose: set[str]) -> list[str]:
    """Verbs of actions that achieve a unary predicate; words after the object belong to the verb."""
    found = []
    for schema in makers:
        before, _, after = schema.phrase.partition("{")
        after = after.partition("}")[2].strip()
        verb = _spoken(before).removesuffix("the").strip()
        found.append(f"{verb} {{x}} {after}" if after else verb)
        found += [_spoken(a) for a in (schema.name, *schema.aliases) if _spoken(a) not in loose and not after]
    return found


def _states(domain: Domain) -> Mapping[Words, str]:
    """ "open" -> opened: what the phrases of unary predicates contain after "is", and other words for that."""
    found: dict[Words, str] = {}
    for predicate in domain.predicates.values():
        before, _, after = predicate.phrase.partition("} is ")
        if (
            predicate.goal
            and len(predicate.parameters) == 1
            and before.startswith("the {")
            and "{" not in after
            and after
        ):
            found[tuple(after.split())] = predicate.name
    same = {(said,): found[of,] for said, of in english()["states"].items() if (of,) in found}
    return MappingProxyType(same | found)


@lru_cache(maxsize=64)
def needed_properties(domain: Domain, predicate: Predicate) -> tuple[tuple[str, ...], ...]:
    """Static properties of the object that each action requires which achieves a unary predicate."""
    fixed = fixed_predicates(domain)
    found = []
    for schema in domain.actions.values():
        if len(schema.parameters) == 1 and _makes(schema, predicate):
            term = (schema.parameters[0].name,)
            found.append(
                tuple(
                    part.predicate
                    for part in conjuncts(schema.precondition)
                    if isinstance(part, Atom) and part.terms == term and part.predicate in fixed
                )
            )
    return tuple(found)


def _makes(schema: ActionSchema, predicate: Predicate) -> bool:
    """Whether an action has the predicate's parameters and achieves it."""
    terms = tuple(p.name for p in schema.parameters)
    return any(
        atom.predicate == predicate.name and atom.terms == terms
        for effect in schema.effects
        if not effect.variables
        for atom in effect.add
    )


def _relation_word(predicate: Predicate) -> str:
    """ "on" from "the {i} is on the {t}"; the predicate's name where its phrase has another form."""
    between = predicate.phrase.partition("} is ")[2].partition(" the {")[0].strip()
    return between if between and "{" not in between and len(between.split()) <= 5 else _spoken(predicate.name)


def _variants(phrase: str, travel: list[str]) -> list[str]:
    """ "return to base" also as "go back to base", "move to base", and without an article."""
    first, _, rest = phrase.partition(" ")
    if first not in travel:
        return [phrase] if rest else []
    rests = {
        rest,
        rest.replace("to the ", "to "),
        rest.replace("to ", "to the ").replace("the the", "the"),
        rest.replace("to the ", "to your "),
        rest.replace(" position", ""),
        rest.replace("to the ", "to its "),
    }
    return [f"{verb} {middle}{r}".strip() for verb, r, middle in product(travel, rests, ("", "back "))]


def _spoken(name: str) -> str:
    return name.replace("_", " ").strip()
