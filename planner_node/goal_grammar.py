"""Controlled English to goal literals, with the words of a domain. No model is asked.

It answers only where it covers the whole sentence and knows every thing named in it. What it does not cover raises
NotCoveredError (a model may understand it); what it understands and must refuse raises GoalError: an unknown or
ambiguous thing, a relation the domain does not have.

Reading rules: clauses are read in order and a later one about the same thing replaces an earlier one; several things
put on one that has room for one are stacked in the order named; "a cube" takes the first that fits; "the cube" must
be the only one; "all", "both", plurals and words for many ("fruit") mean all that are seen, bar the destination.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import LarkError

from planner_node.lexicon import Lexicon, lexicon, needed_properties
from planner_node.noun_phrases import NotCoveredError, NounPhrases
from planweave.domain import Domain, Predicate, spoken
from planweave.errors import GoalError, ParseError
from planweave.world import Literal, World

MAX_CHARACTERS = 1000  # longer sentences are for a model: parsing takes time that grows with the cube of the length

_GRAMMAR = r"""
start: clause (_separator clause)*
_separator: (_COMMA | _AND | _THEN)+
?clause: move | carry | reach | relax | remove | clear_away | set_aside | ellipsis | statement
move: MOVE _PARTICLE? things _PARTICLE? source? destination+
carry: UNARY things _PARTICLE? source? destination+
reach: UNARY things _PARTICLE? source?
relax: NULLARY
remove: (REMOVE things (OUT | FROM) thing) | ((MOVE | UNARY) things OUT thing)
clear_away: EMPTY thing
set_aside: (MOVE | UNARY) things _ASIDE
ellipsis: things source? destination+
statement: things _BE destination
source: FROM thing
destination: RELATION thing | BETWEEN thing (_AND thing)?
things: thing (_list thing)*
_list: _COMMA | _AND | _COMMA _AND
thing: WORD+ modifier? exception?
modifier: _THAT destination
exception: _EXCEPT things
WORD: /(?!(?:KEYWORDS)(?![a-z0-9_]))[a-z0-9_]+(?![a-z0-9_])/
%ignore /\s+/
"""


def read_goal(domain: Domain, world: World, sentence: str) -> tuple[Literal, ...]:
    """Goal literals of a sentence in controlled English; raises NotCoveredError or GoalError."""
    given = _given(sentence)
    if given is not None:
        return given
    if len(sentence) > MAX_CHARACTERS:
        raise NotCoveredError(f"longer than {MAX_CHARACTERS} characters")
    words = lexicon(domain)
    text = _normalised(sentence, words, world)
    if not text:
        raise NotCoveredError("no words")
    try:
        tree = _parser(domain.name, domain.pddl_text).parse(text)
    except LarkError as error:
        raise NotCoveredError(f"not in the controlled English: {str(error).splitlines()[0]}") from None
    return _Reader(domain, world, words).read(tree)


def _given(sentence: str) -> tuple[Literal, ...] | None:
    """Literals written outright, "in(red_cube, left_tray) and not holding(pear)"; None where it is a sentence."""
    parts = [p for p in re.split(r"\s+and\s+|[;&\n]|(?<=\)),", sentence.strip()) if p.strip()]
    if not parts or not all(re.fullmatch(r"\s*(?:not\s*)?\(?\w+\s*\([^()]*\)\)?\s*", p) for p in parts):
        return None
    try:
        return tuple(Literal.parse(p) for p in parts)
    except ParseError:
        return None


def _normalised(sentence: str, words: Lexicon, world: World) -> str:
    """Lower case, without politeness, sentence ends as "then", known names written as one word."""
    text = sentence.lower().replace("’", "'")
    text = re.sub(r"(?<=[a-z0-9])-(?=[a-z0-9])", " ", text)
    text = re.sub(r"[.;!?\n]+\s*(?=\S)", " then ", text)
    text = re.sub(r"[.;!?\"\s]+$", "", text)
    text = re.sub(r"\s+", " ", re.sub(r"[\"“”`]", "", text)).strip()
    text = re.sub(rf"(?<![\w'])(?:{_either(words.english['politeness'])})(?![\w'])", " ", text)
    text = re.sub(r"\s+", " ", text).strip(" ,")
    for said, meant in words.sayings:
        text = said.sub(meant, text)
    for name in sorted(world.by_name, key=len, reverse=True):
        if "_" in name:
            text = re.sub(rf"(?<![a-z0-9_]){re.escape(spoken(name))}(?![a-z0-9_]| of the )", name, text)
    return re.sub(r"^(?:(?:then|and|,)\s+)+", "", text)


def _either(phrases: Iterable[str]) -> str:
    """A pattern for any of the phrases, longest first."""
    ordered = sorted(set(phrases), key=lambda p: (-len(p), p))
    return "|".join(re.escape(p).replace(r"\ ", r"\s+") for p in ordered)


@lru_cache(maxsize=16)
def _parser(name: str, _pddl: str) -> Lark:
    words = lexicon(Domain.load(name))
    en = words.english
    terminals = {
        "MOVE": words.move, "UNARY": words.unary, "NULLARY": words.nullary, "REMOVE": en["remove"],
        "RELATION": [*words.relations, *words.away, *(set(en["unknown_relations"]) - set(words.between))],
        "BETWEEN": words.between,
        "OUT": en["out"], "FROM": en["from"], "EMPTY": en["empty"], "_ASIDE": en["aside"],
        "_THAT": en["that"], "_EXCEPT": en["except"], "_BE": en["be"], "_PARTICLE": en["particle"],
        "_THEN": en["then"], "_AND": en["and"], "_COMMA": [","],
    }
    lines = [_GRAMMAR]
    for terminal, phrases in terminals.items():
        end = "" if terminal == "_COMMA" else "(?![a-z0-9_])"
        # A terminal that no phrase stands for (a domain may have no unary goals) matches nothing.
        lines.append(f"{terminal}: /(?:{_either(phrases) or '(?!)x'}){end}/")
    keywords = _either(p for t, phrases in terminals.items() if t != "_COMMA" for p in phrases)
    return Lark("\n".join(lines).replace("KEYWORDS", keywords), parser="earley", lexer="dynamic")


class _Reader:
    """Turns one parsed sentence into literals."""

    def __init__(self, domain: Domain, world: World, words: Lexicon) -> None:
        self._domain, self._world, self._words = domain, world, words
        self._names = NounPhrases(domain, world)
        notes = domain.extra.get("goals") or {}
        pairs = [p for p in domain.predicates.values() if p.goal and len(p.parameters) == 2]
        self._relations = [p for p in pairs if p.name not in notes.get("beside", ())]
        self._beside = {p.name: p for p in pairs if p not in self._relations}
        self._put_beside, self._moved_away, self._aside = (
            str(notes.get(key, "")) for key in ("put_beside", "moved_away", "aside"))
        self._exclusive, self._narrow = set(notes.get("exclusive", ())), str(notes.get("room_for_one", ""))
        self._replaced = [self._exclusive, *map(set, notes.get("later_wins", ()))]
        self._goal: dict[Literal, None] = {}

    def read(self, tree: Any) -> tuple[Literal, ...]:
        """Literals of all clauses."""
        for clause in tree.children:
            for literal in [g for g in self._goal if not g.args]:
                del self._goal[literal]  # "go home, then …": it will not stay there
            getattr(self, f"_{clause.data}")(clause)
        return tuple(self._goal)

    def _add(self, literal: Literal) -> None:
        for other in list(self._goal):
            about_same = literal.args[:1] == other.args[:1] and bool(literal.args)
            if about_same and any({literal.predicate, other.predicate} <= group for group in self._replaced):
                del self._goal[other]
        self._goal[literal] = None

    def _move(self, clause: Any) -> None:
        destinations = [c for c in clause.children if _is(c, "destination")]
        places = [self._place(d) for d in destinations]
        if len(places) > 1 and not all(map(self._movable, places[0][1].split(" "))):
            # "put the cube in the bowl on the plate": the first place says which cube, if one is there.
            (_, source), *places = places
            if len(places) > 1 or not any(self._facts(n, source) for n in self._world.by_name):
                raise NotCoveredError("several places, and which is meant is not clear")
            things = self._things(clause, self._movable, without=places[0][1], source=source)
        else:
            things = self._things(clause, self._movable, without=places[0][1])
        for (word, place), (_, previous) in zip(places[1:], places):
            self._put([previous], word, place)  # "a on b on c"
        self._put(things, *places[0])
        word, place = places[0]
        if self._words.relations.get(word) in self._beside and len(things) == 1 and clause.data != "statement":
            self._add(Literal(self._put_beside, (things[0], place)))
        if word in self._words.away and self._moved_away:
            self._add(Literal(self._moved_away))
        self._names.last, self._names.place = things, places[0][1].split(" ")

    _ellipsis = _statement = _move

    def _carry(self, clause: Any) -> None:
        """"take the pear to the bowl" moves it; "pick up the pear in the bowl" says which pear."""
        destinations = [c for c in clause.children if _is(c, "destination")]
        if len(destinations) == 1:
            word, place = self._place(destinations[0])
            named = self._words.relations.get(word, "")
            things = self._things(clause, self._movable, without=place)
            if word in self._words.between or named in self._beside:
                where = [self._seen_from(t, word, place.split(" ")) for t in things]
                if all(self._world.holds(f) for f in where):
                    self._reached(clause.children[0], things)
                    return
            elif named and all(self._world.holds(Literal(named, (t, place))) for t in things):
                self._reached(clause.children[0], things)
                return
        self._move(clause)

    def _reach(self, clause: Any) -> None:
        predicate = self._domain.predicates[self._words.unary[_clean(clause.children[0])]]
        types = predicate.parameters[0].types
        self._reached(clause.children[0], self._things(
            clause, lambda name: self._fits(types, name), prefer=lambda name: self._can_become(predicate, name)))

    def _can_become(self, predicate: Predicate, name: str) -> bool:
        """Whether a thing has the properties that the actions ask for which make a predicate true of it."""
        needs = needed_properties(self._domain, predicate)
        return not needs or any(all(Literal(p, (name,)) in self._world.facts for p in of) for of in needs)

    def _reached(self, verb: Any, things: list[str]) -> None:
        predicate = self._domain.predicates[self._words.unary[_clean(verb)]]
        types = predicate.parameters[0].types
        for thing in things:
            if not self._fits(types, thing):
                raise GoalError(f"{_clean(verb)!r} needs one of: {', '.join(sorted(types))}; {thing} is a "
                                f"{self._world.by_name[thing].type}")
            self._add(Literal(predicate.name, (thing,)))
        self._names.last = things

    def _relax(self, clause: Any) -> None:
        self._add(Literal(self._words.nullary[_clean(clause.children[0])]))

    def _remove(self, clause: Any) -> None:
        place = self._thing(clause.children[-1], self._can_hold, plural=False)[0]
        inside = [t for t in self._world.by_name if self._facts(t, place)]
        things = self._things(clause, lambda n: n in inside or not inside, without=place)
        for thing in things:
            facts = self._facts(thing, place)
            if not facts:
                raise GoalError(f"{thing} is not in, on or at {place}, so it cannot be taken from there")
            for fact in facts:
                self._add(fact.negated())
        self._names.last = things

    def _facts(self, thing: str, place: str) -> list[Literal]:
        return [f for p in self._relations if (f := Literal(p.name, (thing, place))) in self._world.facts]

    def _clear_away(self, clause: Any) -> None:
        place = self._thing(clause.children[-1], self._can_hold, plural=False)[0]
        facts = [f for t in self._world.by_name for f in self._facts(t, place)]
        if not facts:
            raise GoalError(f"nothing is in, on or at {place}, so there is nothing to clear away")
        for fact in facts:
            self._add(fact.negated())
        if self._moved_away:
            self._add(Literal(self._moved_away))
        self._names.last = [f.args[0] for f in facts]

    def _set_aside(self, clause: Any) -> None:
        if not self._aside:
            raise NotCoveredError("nothing can be set aside here")
        things = self._things(clause, self._movable)
        for thing in things:
            self._add(Literal(self._aside, (thing,)))
        self._names.last = things

    def _place(self, destination: Any) -> tuple[str, str]:
        """The word of a destination and the thing it names; two things, joined by a space, for "between"."""
        word = _clean(destination.children[0])
        if word in self._words.between:
            several = len(destination.children) == 2
            pair = [n for part in destination.children[1:] for n in self._thing(part, lambda _: True, plural=several)]
            if len(pair) != 2 or pair[0] == pair[1]:
                raise GoalError(f"{word!r} needs two different things, got {', '.join(pair)}")
            return word, " ".join(pair)
        if word in self._words.away or self._words.relations.get(word) in self._beside:
            return word, self._thing(destination.children[1], lambda _: True, plural=False)[0]
        if word not in self._words.relations:
            known = ", ".join(repr(w) for w in sorted({w for w, p in self._words.relations.items() if p == w}))
            raise GoalError(f"no goal can say {word!r}; places can be named with {known}")
        named = self._words.relations[word]
        fitting = [p for p in self._relations if p.name == named]

        def prefer(name: str) -> bool:
            return any(self._fits(p.parameters[1].types, name) for p in fitting)

        return word, self._thing(destination.children[1], self._can_hold, plural=False, prefer=prefer)[0]

    def _put(self, things: list[str], word: str, place: str) -> None:
        others = place.split(" ")
        aside = word in self._words.away or word in self._words.between or self._words.relations[word] in self._beside
        stacked = Literal(self._narrow, (place,)) in self._world.facts and len(things) > 1 and not aside
        for thing in things:
            if thing in others:
                raise GoalError(f"{thing} cannot be put {'beside' if aside else 'on'} itself")
            if aside:
                self._add(self._seen_from(thing, word, others))
                continue
            self._add(Literal(self._relation(thing, word, place), (thing, place)))
            if stacked:
                place = thing

    def _seen_from(self, thing: str, word: str, others: list[str]) -> Literal:
        """The literal of a relation that is no place of its own: beside, between, away from."""
        away = self._words.away.get(word, "")
        name = away or self._words.between.get(word) or self._words.relations[word]
        predicate = self._domain.predicates[name]
        for parameter, given in zip(predicate.parameters, (thing, *others)):
            if not self._fits(parameter.types, given):
                raise GoalError(f"{spoken(thing)} cannot be put {word!r} {spoken(' and '.join(others))}: {given} is a "
                                f"{self._world.by_name[given].type}")
        return Literal(name, (thing, *others), not away)

    def _relation(self, thing: str, word: str, place: str) -> str:
        """The predicate for a word between two things: the word's own where types allow, else the only other one
        that a fixed place takes ("on the tray" means in it); what can be moved itself takes the word's own only."""
        fit = [p.name for p in self._relations
               if self._fits(p.parameters[0].types, thing) and self._fits(p.parameters[1].types, place)]
        named = self._words.relations[word]
        if named in fit:
            return named
        if len(fit) == 1 and (not named or not self._movable(place)):
            return fit[0]
        raise GoalError(f"{spoken(thing)} cannot be put {word!r} {spoken(place)}"
                        + (f"; possible is: {', '.join(fit)}" if fit else ""))

    def _things(self, clause: Any, fits: Callable[[str], bool], without: str = "", source: str = "",
                prefer: Callable[[str], bool] | None = None) -> list[str]:
        """The things of a clause; source: where they are now, if that is said; prefer: what "it" should be."""
        parts = next(c for c in clause.children if _is(c, "things")).children
        said = next((c for c in clause.children if _is(c, "source")), None)
        place = self._thing(said.children[-1], self._can_hold, plural=False)[0] if said else source

        def usable(name: str) -> bool:
            return name != without and fits(name) and (not place or bool(self._facts(name, place)))

        head = next((str(w) for w in reversed(parts[-1].children) if isinstance(w, Token)), "")
        names = [n for part in parts for n in self._thing(part, usable, head=head, prefer=prefer)]
        for name in names:
            if place and not self._facts(name, place):
                raise GoalError(f"{name} is not in, on or at {place}")
        return list(dict.fromkeys(names))

    def _thing(self, tree: Any, fits: Callable[[str], bool], **how: Any) -> list[str]:
        words = [str(w) for w in tree.children if isinstance(w, Token)]
        required = [fact for part in tree.children if _is(part, "modifier") for fact in [self._modifier(part)]]
        left_out = {n for part in tree.children if _is(part, "exception")
                    for n in self._things(part, lambda _: True)}
        found = self._names.resolve(
            words, lambda n: n not in left_out and fits(n) and all(r(n) for r in required), **how)
        return [n for n in found if n not in left_out]

    def _modifier(self, part: Any) -> Callable[[str], bool]:
        """"that is in the bowl": whether an object is there now."""
        word, place = self._place(part.children[0])
        if word in self._words.away or word in self._words.between or self._words.relations[word] in self._beside:
            others = place.split(" ")
            return lambda name: name not in others and self._world.holds(self._seen_from(name, word, others))
        named = self._words.relations[word]
        predicates = [p.name for p in self._relations if p.name == named and self._fits(
            p.parameters[1].types, place)] or [p.name for p in self._relations]
        return lambda name: any(Literal(p, (name, place)) in self._world.facts for p in predicates)

    def _movable(self, name: str) -> bool:
        return any(self._fits(p.parameters[0].types, name) for p in self._relations)

    def _can_hold(self, name: str) -> bool:
        return any(self._fits(p.parameters[1].types, name) for p in self._relations)

    def _fits(self, types: frozenset[str], name: str) -> bool:
        return self._domain.is_a(self._world.by_name[name].type, types)


def _is(part: object, data: str) -> bool:
    return isinstance(part, Tree) and part.data == data


def _clean(token: Any) -> str:
    return " ".join(str(token).split())
