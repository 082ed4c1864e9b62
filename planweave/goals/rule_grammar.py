"""Rules in controlled English, read into formulas over a domain's predicates and limits, without a model or a world.

A sentence is accepted only where the rules of this grammar use every word and all ways to read it say the same.
docs/rules.md lists the forms.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, product

from planweave.core.base.errors import GoalError, PlanweaveError, UnknownNameError
from planweave.core.checks.validation import achievers
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.rule_check import rule_words
from planweave.core.symbolic.rules import Description, Forbidden, Rule
from planweave.core.symbolic.transition import fixed_predicates
from planweave.core.symbolic.world import Literal
from planweave.goals.goal_parser import Parser
from planweave.goals.lexicon import english, lexicon, singulars
from planweave.goals.phrase_parser import TooLongError
from planweave.goals.sentence_tree import Clause, ClauseKind, NounPhrase, Quantity
from planweave.goals.sentence_words import Words, is_real, longest, phrases, words_of

MAX_CHARACTERS = 300
EXAMPLES = (
    "never put anything on the stove",
    "keep the knife in the box",
    "the fridge stays closed",
    "do not touch the red cube",
    "nothing above 30 cm",
)
_UNITS = {"m": 1.0, "metres": 1.0, "meters": 1.0, "cm": 0.01, "centimetres": 0.01, "centimeters": 0.01, "mm": 0.001}
_UNKNOWN = "where the body calls things so, list the word under `names` in the file of rules"
_LOWEST = 0.05  # m: below that nothing can be lifted at all
_HIGHEST = 3.0  # m: more than any arm reaches
_GRAMMAR = {key: phrases(rows) for key, rows in english()["rules"].items()}
_GRAMMAR["stays"] = phrases(
    f"{must}{stay}" for must in english()["rules"]["must"] for stay in english()["rules"]["stay"]
)
_GRAMMAR["may"] |= {()}
_WORDS = {w for rows in _GRAMMAR.values() for phrase in rows for w in phrase}
_SIDES = {"middle", *chain(*english()["which_side"].values())}
_SPOTS = (*english()["spots"], "location")  # on a table
_TOPS = ("table", "counter", "floor")
_ROOMS = ("kitchen", "bedroom", "bathroom", "livingroom", "room", "office", "hall")
_NO_CLAUSE = Clause(ClauseKind.WISH, "")


@dataclass(frozen=True)
class _Said:
    """One way to read a sentence. kind: never, keep, touch or height; height in m."""

    kind: str
    clause: Clause = _NO_CLAUSE
    height: float = 0.0


def read_rule(domain: Domain, sentence: str, names: Collection[str] = ()) -> Rule:
    """The rule of a sentence; raises GoalError or UnknownNameError that say what can be read.

    names: nouns for things beside those that the domain lists.
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in sentence).split())
    if len(text) > MAX_CHARACTERS:
        raise GoalError(f"the rule has {len(text)} characters; at most {MAX_CHARACTERS} are read")
    reader = _RuleReader(domain, text, names)
    ways: dict[Rule, None] = {}
    problem: PlanweaveError | None = None
    for said in reader.said():
        try:
            ways[reader.rule(said)] = None
        except GoalError as error:
            problem = problem or error
    if not ways:
        raise problem or GoalError(f'the rule "{text}" is not understood{_instead()}')
    if len(ways) > 1:
        shown = " or: ".join(rule_words(domain, rule) for rule in list(ways)[:3])
        raise GoalError(f'the rule "{text}" can be meant in several ways ({shown}); say it in simpler words')
    return next(iter(ways))


def _instead() -> str:
    return "; what can be read: " + ", ".join(f'"{example}"' for example in EXAMPLES)


class _RuleReader:
    """Reads one sentence."""

    def __init__(self, domain: Domain, text: str, names: Collection[str]) -> None:
        self._domain, self._text = domain, text
        self._lexicon, self._goals = lexicon(domain), domain.extra.get("goals") or {}
        self._beside = set(self._goals.get("beside", ())) | {str(self._goals.get("aside", ""))}
        self._known = known_nouns(domain) | {name.lower() for name in names}
        self._notes: dict[str, None] = {}
        self._words = self._cleaned(words_of(text)[0])

    def said(self) -> list[_Said]:
        """All ways to read the sentence."""
        if not self._words:
            raise GoalError(f"the rule is empty{_instead()}")
        nouns = self._describing()
        parser = _RuleParser(self._words, self._lexicon, nouns, frozenset(w for w in nouns if not w.isdigit()))
        try:
            return list(dict.fromkeys(parser.said()))
        except TooLongError as error:
            raise GoalError(f'the rule "{self._text}" is not understood: {error}') from None

    def rule(self, said: _Said) -> Rule:
        """The rule of one way to read the sentence; raises GoalError."""
        self._notes = {}
        if said.kind == "height":
            if not _LOWEST <= said.height <= _HIGHEST:
                raise GoalError(
                    f'the rule "{self._text}": {said.height:g} m is not a height to keep objects below; give one '
                    f"from {_LOWEST:g} to {_HIGHEST:g} m above the table"
                )
            return Rule(self._text, highest=said.height)
        if said.kind == "touch":
            things = self._things(said.clause)
            return Rule(self._text, untouched=things, notes=tuple(self._notes))
        forbidden = tuple(dict.fromkeys(self._forbidden(said)))
        for each in forbidden:
            self._check(each)
        return Rule(self._text, forbidden, notes=tuple(self._notes))

    # Words

    def _cleaned(self, words: Words) -> Words:
        """The words in the forms that the grammar reads; raises UnknownNameError for one that nothing knows."""
        said: list[str] = []
        for word in words:
            measure = re.fullmatch(r"(\d+(?:·\d+)?)(mm|cm|m)", word)
            said += [measure[1], measure[2]] if measure else [w for w in word.split("_") if w]
        same = english()["same"]
        said = [same.get(w, w) if w not in self._known else w for w in said]
        said = [{"anything": "everything", "something": "everything", "or": "and"}.get(w, w) for w in said if w]
        kept: list[str] = []
        at = 0
        while at < len(said):
            length = longest(said, at, _GRAMMAR["idle"])
            kept += [] if length else [said[at]]
            at += length or 1
        kept = [w for w in kept if w not in (".", ",")]
        for word in kept:
            if not self._is_known(word):
                raise UnknownNameError(f'word in the rule "{self._text}"', word, self._known, _UNKNOWN)
        return tuple(kept)

    def _is_known(self, word: str) -> bool:
        return (
            word in self._known
            or word in self._lexicon.words
            or word in _WORDS
            or word in _UNITS
            or word.replace("·", "").isdigit()
            or word in english()["colours"]
            or word in _SIDES
            or self._noun(word) in self._known
            or is_real(word)
            or self._noun(word) != word
        )

    def _describing(self) -> dict[str, bool]:
        """The words of the sentence that may describe a thing, and whether they are plurals."""
        superlatives, names = set(english()["superlatives"]), self._names
        return {
            w: w not in self._known and self._noun(w) != w
            for w in self._words
            if w in names or (w.isalnum() and w not in superlatives | self._lexicon.words | _WORDS)
        }

    @property
    def _names(self) -> set[str]:
        """Words that describe things, whatever else they mean."""
        every = {*self._known, *english()["colours"], *_SIDES, *_SPOTS, *_TOPS}
        after_article = {w for article, w in pairwise(self._words) if article in ("the", "a", "an", "any", "no")}
        return {w for w in self._words if w in every | after_article or self._noun(w) in self._known or w.isdigit()}

    def _noun(self, word: str) -> str:
        if word in self._known:
            return word
        forms = singulars(word)
        return next((s for s in forms if s in self._known), next((s for s in reversed(forms) if is_real(s)), word))

    # Things

    def _things(self, clause: Clause) -> tuple[Description, ...]:
        return tuple(self._described(replace(t, exceptions=t.exceptions)) for t in clause.things)

    def _described(self, phrase: NounPhrase) -> Description:
        """The objects of a noun phrase, whichever there will be."""
        odd = (
            phrase.pronoun
            or phrase.superlative
            or phrase.places
            or phrase.other
            or phrase.number > 1
            or phrase.quantity in (Quantity.EXACTLY,)
            or phrase.generic in ("one", "ones")
        )
        if odd:
            raise GoalError(
                f'the rule "{self._text}": {phrase.text!r} depends on what is the case at the moment; a rule names '
                'things by what they are, such as "the knife", "red cubes", "anything but the mug"'
            )
        but = tuple(self._described(each) for each in phrase.exceptions)
        words = [w for w in phrase.words if w not in english()["same"] or english()["same"][w]]
        if phrase.generic or not words:
            return Description("", frozenset(words), but)
        *before, last = words
        if last.isdigit() and before:  # "red cube 2"
            before, last = [*before[:-1], last], before[-1]
        noun = self._noun(last)
        if noun not in self._known and noun not in (*_SPOTS, *_TOPS, *_ROOMS):
            unlisted = f"nothing that the domain {self._domain.name} lists is called {noun!r}"
            self._notes[f"{unlisted}; the rule counts for what the body calls so"] = None
        return Description(noun, frozenset(before), but)

    # Literals

    def _forbidden(self, said: _Said) -> Iterator[Forbidden]:
        """What may not come about: what a clause asks for, or the end of it where that is to be kept."""
        keep = said.kind == "keep"
        for literal in self._asked(said.clause):
            each = replace(literal, positive=literal.positive != keep)
            yield each
            yield from self._same(each)

    def _same(self, each: Forbidden) -> Iterator[Forbidden]:
        """Further literals that come about with a forbidden one: what is not closed is open, either hand holds."""
        if each.positive:
            once = self._goals.get("once", ()) if each.predicate in self._goals.get("once", ()) else ()
            yield from (replace(each, predicate=name) for name in once)
            return
        for pair in self._domain.never_together:
            if len(pair) == 2 and each.predicate in pair:
                other = self._domain.predicates.get(next(name for name in pair if name != each.predicate))
                if other is not None and len(other.parameters) == len(each.things):
                    yield Forbidden(other.name, each.things)

    def _asked(self, clause: Clause) -> Iterator[Forbidden]:
        """The literals that a clause asks for, of described things."""
        if (
            clause.kind in (ClauseKind.MOVE, ClauseKind.PUSH, ClauseKind.STACK, ClauseKind.WISH)
            and clause.places
            and not clause.template
        ):
            yield from self._placed(clause)
        elif clause.kind in (ClauseKind.REMOVE,) and clause.source is not None:
            for literal in self._places_of(clause.things, "in", clause.source, clause):
                yield replace(literal, positive=False)
        elif clause.kind is ClauseKind.EMPTY:
            everything = NounPhrase("everything", Quantity.ALL, generic="everything", plural=True)
            for literal in self._places_of(
                (everything,), "in", clause.things[0], replace(clause, things=(everything,))
            ):
                yield replace(literal, positive=False)
        elif clause.template and not clause.places and clause.source is None:
            yield from self._of_template(clause)
        else:
            raise GoalError(f'the rule "{self._text}" says nothing that can be checked of actions{_instead()}')

    def _placed(self, clause: Clause) -> Iterator[Forbidden]:
        if len(clause.places) != 1 or clause.source is not None:
            raise GoalError(f'the rule "{self._text}": name one place in a rule')
        (place,) = clause.places
        word = tuple(place.word.split())
        if word in self._lexicon.away:
            for literal in self._places_of(clause.things, self._lexicon.away[word], place.things[0], clause):
                yield replace(literal, positive=False)
        elif word in self._lexicon.inverse:
            yield from self._places_of(
                place.things, self._lexicon.inverse[word], clause.things[0], Clause(ClauseKind.MOVE, "")
            )
        elif len(place.things) > 1 or word in self._lexicon.between or word in self._lexicon.unknown:
            raise self._unsure(place.word)
        else:
            yield from self._places_of(clause.things, self._lexicon.relations.get(word, ""), place.things[0], clause)

    def _places_of(
        self, things: Sequence[NounPhrase], named: str, where: NounPhrase, clause: Clause
    ) -> Iterator[Forbidden]:
        """Facts that objects are at a place, by every relation that the word can mean there."""
        if named in self._beside:
            raise self._unsure(self._domain.predicates[named].name.replace("_", " "))
        place = self._described(where)
        described = self._things(replace(clause, things=tuple(things)))
        if any(thing.noun and thing == place for thing in described):
            raise GoalError(f'the rule "{self._text}" contradicts itself: nothing is in, on or at itself')
        fitting = self._relations(named, place)
        if not fitting:
            raise GoalError(
                f'the rule "{self._text}": nothing can be {named or "put"} {str(place).removeprefix("any ")}'
            )
        yield from (Forbidden(name, (thing, place)) for thing, name in product(described, fitting))

    def _relations(self, named: str, place: Description) -> list[str]:
        """Predicates of a thing and its place that can be meant: the one that was said, where such a place can have it,
        else those that it can have.
        """
        unsaid = {*self._beside, *self._goals.get("no_places", ()), *self._goals.get("unspoken", ())}
        every = [
            p for p in self._domain.predicates.values() if p.goal and len(p.parameters) == 2 and p.name not in unsaid
        ]
        found: dict[str, None] = {}
        for kind in self._types_of(place.noun):
            fit = [p for p in every if not kind or self._domain.is_a(kind, p.parameters[1].types)]
            found.update((p.name, None) for p in [p for p in fit if p.name == named] or fit)
        return list(found)

    def _types_of(self, noun: str) -> list[str]:
        """Types that the objects of a noun may have; "" for any."""
        domain = self._domain
        if noun in domain.types or not noun:
            return [noun]
        found = [domain.classes[c] for c in (noun, *domain.categories.get(noun, ())) if c in domain.classes]
        found += [] if found or noun in _SPOTS else [t for t in ("item",) if t in domain.types]
        found += [t for t in ("location",) if t in domain.types and noun in (*_SPOTS, *_TOPS)]
        if "room" in domain.types and noun in _ROOMS:
            return ["room"]
        return list(dict.fromkeys(found)) or [""]

    def _of_template(self, clause: Clause) -> Iterator[Forbidden]:
        """The literals of a verb or state; of one that asks for several things at once a rule cannot be made."""
        for way in clause.template.split(" | "):
            if way.count("&") or re.search(r"\{(?!x\}|y\})", way):
                raise GoalError(
                    f'the rule "{self._text}" means several things at once; say which state may not come about'
                    f"{_instead()}"
                )
            literal = Literal.parse(way.replace("{", "").replace("}", ""))
            slots = {"x": self._things(clause), "y": tuple(map(self._described, clause.second))}
            if any(not slots.get(name) for name in literal.args):
                raise GoalError(f'the rule "{self._text}": say of what{_instead()}')
            for things in product(*(slots[name] for name in literal.args)):
                yield Forbidden(literal.predicate, things, literal.positive)

    def _check(self, each: Forbidden) -> None:
        """Raise GoalError where the domain's actions do not tell whether they bring a literal about."""
        if each.predicate in self._beside:
            raise self._unsure(each.predicate.replace("_", " "))
        literal = Literal(each.predicate, (), each.positive)
        meanwhile = (
            {a.predicate for s in self._domain.actions.values() for a in s.meanwhile} if each.positive else set()
        )
        if each.predicate in fixed_predicates(self._domain) or not (
            achievers(self._domain, literal) or each.predicate in meanwhile
        ):
            what = self._domain.predicates[each.predicate].phrase
            raise GoalError(
                f'the rule "{self._text}" forbids nothing: no action of {self._domain.name} changes whether '
                f"{re.sub('[{}]', '', what)}"
            )

    def _unsure(self, relation: str) -> GoalError:
        return GoalError(
            f'the rule "{self._text}" cannot be kept: which actions bring something {relation!r} something else is not '
            "known before they are done; name a place that things are in, on or at"
        )


class _RuleParser(Parser):
    """Parser from words to the ways to read a rule."""

    def said(self) -> Iterator[_Said]:
        """All ways to read the whole sentence."""
        yield from self._never()
        yield from self._nothing()
        yield from self._kept()
        yield from self._about_things()

    def _ended(self, found: Iterator[tuple[Clause, int]]) -> Iterator[Clause]:
        yield from (clause for clause, end in found if end == len(self._words))

    def _never(self) -> Iterator[_Said]:
        """ "never …", "do not …" """
        length = self._is("never", 0)
        if not length:
            return
        if verb := longest(self._words, length, _GRAMMAR["touch"]):
            yield from self._untouched(length + verb)
            return
        if verb := longest(self._words, length, _GRAMMAR["lift"]):
            for things, end in self.things_at(length + verb):
                yield from self._height(things, end)
        for clause in self._ended(self.command(length)):
            yield _Said("never", replace(clause, verb=""))

    def _untouched(self, at: int) -> Iterator[_Said]:
        for things, end in self.things_at(at):
            if end == len(self._words):
                yield _Said("touch", Clause(ClauseKind.WISH, "", things))

    def _height(self, things: Sequence[NounPhrase], at: int) -> Iterator[_Said]:
        """ "above 30 cm", of everything."""
        length = longest(self._words, at, _GRAMMAR["above"])
        rest = self._words[at + length :]
        if length and len(rest) == 2 and rest[1] in _UNITS and all(t.generic == "everything" for t in things):
            with_point = rest[0].replace("·", ".")
            if re.fullmatch(r"\d{1,4}(\.\d{1,4})?", with_point):
                yield _Said("height", height=round(float(with_point) * _UNITS[rest[1]], 4))

    def _nothing(self) -> Iterator[_Said]:
        """ "nothing above 30 cm", "nothing may be on the stove", "no fruit in the box" """
        if self._word(0) not in ("nothing", "no"):
            return
        everything = NounPhrase("everything", Quantity.ALL, generic="everything", plural=True)
        found = [((everything,), 1)] if self._word(0) == "nothing" else list(self.things_at(1))
        if self._word(0) == "nothing" and (length := self._is("except", 1)):
            found += [((replace(everything, exceptions=things),), end) for things, end in self.things_at(1 + length)]
        for things, middle in found:
            if self._word(0) == "nothing" and (length := longest(self._words, middle, _GRAMMAR["may_touch"])):
                yield from self._untouched(middle + length)
            for length in {0, longest(self._words, middle, _GRAMMAR["may"])}:
                yield from self._height(things, middle + length)
                yield from (_Said("never", clause) for clause in self._whole(things, middle + length))

    def _whole(self, things: tuple[NounPhrase, ...], at: int) -> Iterator[Clause]:
        """Facts that objects are at a place or in a state, up to the end of the sentence."""
        yield from self._ended(self._states(Clause(ClauseKind.WISH, "", things), at))

    def _kept(self) -> Iterator[_Said]:
        """ "keep …", "leave …" """
        if self._word(0) not in ("keep", "leave"):
            return
        for things, middle in self.things_at(1):
            if longest(self._words, middle, _GRAMMAR["alone"]) == len(self._words) - middle > 0:
                yield _Said("touch", Clause(ClauseKind.WISH, "", things))
            yield from (self._state_kept(clause) for clause in self._whole(things, middle))

    def _about_things(self) -> Iterator[_Said]:
        """ "the fridge stays closed", "the mug must never be on the stove" """
        for things, middle in self.things_at(0):
            if length := longest(self._words, middle, _GRAMMAR["stays"]):
                yield from (self._state_kept(clause) for clause in self._whole(things, middle + length))
                if longest(self._words, middle + length, _GRAMMAR["alone"]) == len(self._words) - middle - length > 0:
                    yield _Said("touch", Clause(ClauseKind.WISH, "", things))
            if length := max(self._is("should_not", middle), longest(self._words, middle, _GRAMMAR["never_is"])):
                yield from (_Said("never", clause) for clause in self._whole(things, middle + length))

    def _state_kept(self, clause: Clause) -> _Said:
        """What is kept out of a place never comes to be there."""
        place = clause.places[0] if clause.places else None
        word = tuple(place.word.split()) if place else ()
        if place is not None and word in self._lexicon.away:
            relation = self._lexicon.away[word]
            said = next(" ".join(w) for w, of in self._lexicon.relations.items() if of == relation)
            return _Said("never", replace(clause, places=(replace(place, word=said),)))
        return _Said("keep", clause)


def known_nouns(domain: Domain) -> frozenset[str]:
    """The nouns that a domain's files have for things, in the singular."""
    goals = domain.extra.get("goals") or {}
    names = domain.extra.get("names") or {}
    found = {*domain.classes, *domain.categories, *domain.round_classes, *domain.types}
    found |= {c for classes in domain.categories.values() for c in classes}
    found |= {str(w) for pair in (goals.get("nouns") or {}).items() for w in pair}
    found |= {str(c) for classes in names.values() for c in classes}
    singular = {w.rsplit("_", 1)[-1].lower() for w in found}
    return frozenset(w for w in singular if w.isalpha() and w not in ("object",))
