"""Answers to questions about the world, without a model. A question never causes an action."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain, Predicate, spoken
from planweave.core.symbolic.world import Known, Literal, World
from planweave.goals.goal_checks import misfit
from planweave.goals.goal_grammar import Reader
from planweave.goals.goal_parser import Parser
from planweave.goals.lexicon import english
from planweave.goals.noun_phrases import NotCoveredError
from planweave.goals.sentence_tree import NounPhrase, Place, Quantity
from planweave.goals.sentence_vocabulary import Vocabulary
from planweave.goals.sentence_words import Words, longest, phrases

_SEE = {
    ("do", "you", "see"),
    ("can", "you", "see"),
    ("you", "see"),
    ("are", "there"),
    ("is", "there"),
    ("do", "you", "know"),
    ("you", "can", "see"),
    ("are", "here"),
    ("do", "we", "have"),
    ("are", "on", "the", "scene"),
    (),
}
_ABILITIES = (
    "|what can you do|what do you do|what can i say|what can i ask|help|how can you help me|"
    "what are you able to do|who are you|what are you|can you help me|what do you understand|"
)
_MOST = 25  # things named in an answer
_FEW = 5  # things never seen that are named, and not only counted
_NOT_SEEN = (Known.REMEMBERED, Known.INFERRED)


def is_question(words: Words, asked: bool) -> bool:
    """Whether words, without politeness, are a question. asked: they end with a question mark."""
    if not words:
        return False
    begins = words[0] in english()["questions"] and (
        words[0] not in ("do", "have", "has", "can", "will", "may")
        or words[1:2] in tuple((w,) for w in english()["asked"])
    )
    return (
        begins
        or words[:3] in (("tell", "me", "what"), ("tell", "me", "where"), ("tell", "me", "how"))
        or (words in (("help",), ("list", "objects"), ("list", "everything")))
        or (asked and words[0] in ("any", "anything"))
    )


def answer(domain: Domain, world: World, words: Words) -> str:
    """The answer in words; raises GoalError where the question is not supported."""
    if words[:2] == ("tell", "me"):
        words = words[2:]
    asker = _Asker(domain, world, words)
    for rule in (
        asker.about_itself,
        asker.seen,
        asker.where,
        asker.there_is,
        asker.either,
        asker.coloured,
        asker.yes_or_no,
        asker.how_many,
        asker.which,
    ):
        try:
            said = rule()
        except NotCoveredError:
            continue
        if said:
            silent = "no camera image comes now; as last seen: " if world.silent else ""
            return silent + said[0].upper() + said[1:]
    raise GoalError(
        'that is a question, and nothing is done for it; answered are questions such as "what do you see?", '
        '"where is the …?", "is the … in the …?", "how many … are there?" and "what can you do?"'
    )


class _Asker:
    """Answers one question about one world."""

    def __init__(self, domain: Domain, world: World, words: Words) -> None:
        self._domain, self._world = domain, world
        self._vocabulary = Vocabulary(domain, world)
        words, _, unknown = self._vocabulary.mended(words)
        self._words = words
        self._parser: Parser = self._vocabulary.parser(words, unknown)
        self._reader = Reader(domain, world, self._vocabulary)

    # Rules: each gives the answer, or "" where it does not apply

    def about_itself(self) -> str:
        """Abilities of the robot, what it holds, and where it is."""
        text = " ".join(self._words)
        if f"|{text}|" in _ABILITIES:
            goals = [p for p in self._domain.predicates.values() if p.goal][:8]
            example = self._domain.example
            shown = "; ".join(map(self._in_general, goals))
            return (
                f'I do tasks such as "{example}": put, take, stack or move things, and tell what I see. Goals can be, '
                f"among others: {shown}. docs/sentences.md lists what is understood"
            )
        if text in (
            "what are you holding",
            "what do you hold",
            "what is in your hand",
            "what is in the gripper",
            "what do you have in your hand",
            "are you holding anything",
            "are you holding something",
            "do you hold anything",
            "what is in your gripper",
        ):
            held = [f.args[0] for p in ("holding", "holds_rh", "holds_lh") for f in self._world.by_predicate.get(p, ())]
            return f"I hold {self._listed(held)}" if held else "I hold nothing"
        if text in ("where are you", "where am i", "which room are you in", "what room are you in"):
            rooms = [f.args[0] for f in self._world.by_predicate.get("agent_in", ())]
            here = [
                self._domain.phrase(f) for p in ("agent_in", "agent_on") for f in self._world.by_predicate.get(p, ())
            ]
            return " and ".join(here) if rooms else "I stand at the table"
        return ""

    @staticmethod
    def _in_general(predicate: Predicate) -> str:
        """The phrase of a predicate with the types of its objects, "the item is in the container\"."""
        said = predicate.phrase
        for parameter in predicate.parameters:
            kind = " or ".join(sorted(map(spoken, parameter.types - {"object"}))) or "thing"
            said = said.replace("{" + parameter.name.lstrip("?") + "}", kind)
        return said

    def seen(self) -> str:
        """ "what do you see?\""""
        if self._words[0] in ("what", "list") and (
            self._words[1:] in _SEE - {()}
            or self._words
            in (
                ("list", "objects"),
                ("list", "everything"),
                ("what", "things", "are", "there"),
                ("what", "is", "here"),
                ("what", "is", "on", "the", "scene"),
            )
            or self._about_the_whole()
        ):
            known = [
                o for o in self._world.objects if o.type not in ("location", "room") and not self._reader.unseen(o.name)
            ]
            away = [o.name for o in known if o.known in _NOT_SEEN]
            names = [o.name for o in known if o.known not in _NOT_SEEN]
            hidden = sum(self._reader.unseen(o.name) for o in self._world.objects)
            return (
                (f"I see {self._listed(names)}" if names else "I see nothing")
                + (f"; not seen now: {self._listed(away, self._world.how_known)}" if away else "")
                + (f"; {hidden} more things are known to be in the home but have not been seen yet" if hidden else "")
            )
        return ""

    def _about_the_whole(self) -> bool:
        """ "what is on the table", where the table is no thing of its own but all that there is."""
        if self._words[:3] not in (("what", "is", "on"), ("what", "is", "in"), ("what", "lies", "on")):
            return False
        whole = {tuple(w.split()) for w in (self._domain.extra.get("goals") or {}).get("whole", ())}
        return ("of", *self._words[3:]) in whole and self._words[-1] not in self._vocabulary.names().known_nouns

    def where(self) -> str:
        """ "where is the pear?\""""
        if self._words[:2] not in (("where", "is"), ("where", "are")) and self._words[:3] != ("where", "can", "i"):
            return ""
        start = 2 if self._words[1] in ("is", "are") else 4
        names = self._whole_phrase(start)
        return "; ".join(self._whereabouts(n) for n in names)

    def there_is(self) -> str:
        """ "is there a banana?", "are there any cubes in the tray?", "do you see a cube?\""""
        for begin in (
            ("is", "there"),
            ("are", "there"),
            ("do", "you", "see"),
            ("can", "you", "see"),
            ("do", "we", "have"),
        ):
            if self._words[: len(begin)] == begin:
                if longest(self._words, len(begin), phrases(english()["free_space"])):
                    raise GoalError("whether there is room is not told; ask what is there")
                return self._any_of(len(begin), seen="see" in begin)
        if self._words[:3] == ("can", "you", "reach") and "reachable" in self._domain.predicates:
            names = self._whole_phrase(3)
            far = [n for n in names if Literal("reachable", (n,)) not in self._world.facts]
            return f"no, {self._listed(far)} is out of reach" if far else f"yes, {self._listed(names)} is within reach"
        return ""

    def _any_of(self, start: int, seen: bool = False) -> str:
        if self._words[start : start + 1] in (("anything",), ("something",)):
            for place, end in self._parser.places_at(start + 1):
                if end == len(self._words):
                    unseen = [n for n in self._place_names(place) if self._reader.unseen(n)]
                    there = [o.name for o in self._world.objects if self._reader.is_at(o.name, place)]
                    if unseen and not there:
                        return f"I do not know: {self._listed(unseen)} has not been seen yet"
                    said = f"yes: {self._listed(there)}{self._known(there)}"
                    return said if there else f"no, nothing as far as I know{self._besides_told(place)}"
        for phrase, end in self._parser.phrases_at(start):
            if end == len(self._words):
                if phrase.quantity is Quantity.NONE:  # "is there no cup?": "yes" says nothing
                    continue
                found = self._all_of(phrase)
                if seen and (phrase.generic == "everything" or any(map(self._is_room, found))):
                    continue
                places = [n for p in phrase.places for n in self._place_names(p)]
                for place in phrase.places if not found else ():
                    self._check_near(self._all_of(replace(phrase, places=())), place)
                if not found and any(map(self._reader.unseen, places)):
                    return f"I do not know: {self._listed(places)} has not been seen yet"
                hidden = self._hidden(replace(phrase, places=()) if not found and places else phrase)
                if not found and places and hidden:
                    return f"I do not know: {self._listed(hidden)} has not been seen yet"
                if seen and hidden:
                    found = [n for n in found if n not in hidden]
                    if not found:
                        return f"no, {self._listed(hidden)} has not been seen yet"
                if phrase.number > 1 or phrase.quantity is Quantity.EXACTLY:
                    over = len(found) > phrase.number
                    told = "there are" if over else "yes" if len(found) == phrase.number else "no"
                    counted = f"{told}, {len(found)}: {self._listed(found)}{self._known(found)}"
                    return counted if found else self._none(phrase)
                return f"yes: {self._listed(found)}{self._known(found)}" if found else self._none(phrase)
        return ""

    def yes_or_no(self) -> str:
        """ "is the pear in the bowl?", "is the fridge open?", "is the bowl empty?\""""
        if self._words[0] not in ("is", "are"):
            return ""
        if self._words[1:2] in (("anything",), ("something",)):
            return self._any_of(1)
        for phrase, end in reversed(self._parser.phrases_at(1)):
            if phrase.pronoun:
                raise GoalError(f"{phrase.text!r} refers to nothing named before; say which thing is meant")
            if self._words[end:] == ("empty",):
                if self._is_any(phrase):
                    return self._any_such(phrase, lambda name: not self._at(name))
                (place,) = self._named(phrase, several=False)
                inside = self._at(place)
                if not inside and self._reader.unseen(place):
                    return f"I do not know: {spoken(place)} has not been seen yet"
                return (
                    f"no, {self._listed(inside)} is there{self._known(inside)}"
                    if inside
                    else f"yes, as far as I know nothing is in {spoken(place)}"
                    f"{self._known([place])}{self._hidden_there([place])}"
                )
            for template, last in self._parser.states_at(end):
                if last == len(self._words):
                    state = template.split("(")[0]
                    if self._is_any(phrase):
                        return self._any_such(phrase, partial(self._is_in_state, state))
                    asked = [Literal(state, (n,)) for n in self._named(phrase, state=state)]
                    for literal in [g for g in asked if not self._world.seems(g)]:
                        if why := misfit(self._domain, self._world, literal):
                            raise GoalError(f"{why}, so that question has no answer")
                    return self._verdict(asked)
            for place, last in self._parser.places_at(end):
                if last == len(self._words):
                    if self._is_any(phrase):
                        return self._any_of(1)
                    names = self._named(phrase)
                    self._place_names(place)
                    self._check_told(names, place)
                    self._check_near(names, place)
                    there = [n for n in names if self._reader.is_at(n, place)]
                    unknown = [n for n in names if self._reader.unseen(n) and n not in there]
                    elsewhere = [n for n in names if n not in there and n not in unknown]
                    if unknown and not elsewhere:
                        return f"I do not know: {self._listed(unknown)} has not been seen yet"
                    if len(there) == len(names):
                        return f"yes{self._known(there)}"
                    return "no; " + "; ".join(map(self._whereabouts, elsewhere))
        return ""

    def coloured(self) -> str:
        """ "is the apple red?\""""
        *before, colour = self._words
        if self._words[0] not in ("is", "are") or colour not in english()["colours"]:
            return ""
        asker = _Asker(self._domain, self._world, tuple(before))
        for phrase, end in asker._parser.phrases_at(1):
            if end == len(before) and self._is_any(phrase):
                return self._any_such(phrase, lambda name: colour in self._colour(name).split(), self._colour)
        names = asker._whole_phrase(1)
        other = [n for n in names if self._colour(n) != colour]
        said = "; ".join(f"{spoken(n)} is {self._colour(n) or 'of a colour I do not know'}" for n in other)
        unsure = any(not self._colour(n) or colour in self._colour(n).split() for n in other)
        return f"{'' if unsure else 'no; '}{said}" if other else "yes"

    def either(self) -> str:
        """ "is the pear in the bowl or on the plate?\": where it is."""
        if self._words[0] not in ("is", "are") or self._words.count("or") != 1:
            return ""
        at = self._words.index("or")
        first, second = (_Asker(self._domain, self._world, w) for w in (self._words[:at], self._words[at + 1 :]))
        if not second._words:
            return ""
        for phrase, end in reversed(first._parser.phrases_at(1)):
            for place, _ in [p for p in first._parser.places_at(end) if p[1] == at]:
                ways = [(Place(place.word, (thing,)), last) for thing, last in second._parser.phrases_at(0)]
                for other in [p for p, last in (*second._parser.places_at(0), *ways) if last == len(second._words)]:
                    names = self._named(phrase)
                    away = not any(self._reader.is_at(n, p) for n in names for p in (place, other))
                    away &= not any(map(self._reader.unseen, names))
                    return ("no; " if away else "") + "; ".join(map(self._whereabouts, names))
        return ""

    def _besides_told(self, place: Place) -> str:
        return self._untold(place) + self._hidden_there(self._place_names(place))

    def _untold(self, place: Place) -> str:
        """Of what it is not known whether it is beside or between others; raises GoalError where a thing nearly is."""
        if not self._reader.is_beside(place):
            return ""
        at = {n for thing in place.things for n in self._named(thing)}
        others = [o.name for o in self._world.objects if o.type not in ("location", "room") and o.name not in at]
        self._check_near(others, place)
        fixed = [n for n in others if not self._reader.can_be_at(n, place)]
        return f"; of {self._listed(fixed)} I cannot tell" if fixed else ""

    def _check_near(self, names: Iterable[str], place: Place) -> None:
        for name in names:
            if not self._reader.is_at(name, place) and self._reader.nearly_at(name, place):
                raise GoalError(f"whether {spoken(name)} counts as {place.word!r} is not clear; ask where it is")

    def _check_told(self, names: Iterable[str], place: Place) -> None:
        """Raise GoalError where facts cannot state that such objects are at such a place."""
        for name in names:
            if not self._reader.can_be_at(name, place):
                raise GoalError(
                    f"of {spoken(name)} it is not known whether it is {place.word!r} something; ask where it is"
                )

    def how_many(self) -> str:
        """ "how many cubes are in the tray?\""""
        if self._words[:2] != ("how", "many"):
            return ""
        return self._selected(
            2, lambda found: f"{len(found)}" + (f": {self._listed(found)}{self._known(found)}" if found else "")
        )

    def _besides(self, names: Iterable[str]) -> str:
        """What may count as well: objects never seen, of which nothing is known."""
        hidden = [n for n in names if self._reader.unseen(n)]
        if len(hidden) > _FEW:
            return f"; {len(hidden)} more have not been seen yet"
        return f"; {self._listed(hidden)} has not been seen yet" if hidden else ""

    def _hidden_there(self, places: Iterable[str]) -> str:
        """How many things never seen may be in rooms and closed things."""
        hidden = sum(self._reader.unseen(o.name) for o in self._world.objects)
        shut = any(Literal("closed", (n,)) in self._world.facts or self._is_room(n) for n in places)
        return f"; {hidden} things have not been seen yet and may be there" if hidden and shut else ""

    def _is_room(self, name: str) -> bool:
        return self._world.by_name[name].type == "room"

    def _hidden(self, phrase: NounPhrase) -> list[str]:
        """Objects that match a description and were never seen."""
        return [n for n in self._all_of(phrase) if self._reader.unseen(n)]

    def which(self) -> str:
        """ "which cubes are in the tray?", "what is on the table?", "what color is the tray?\""""
        if self._words[:2] in (("what", "color"), ("what", "colour")) and self._words[2:3] in (("is",), ("are",)):
            names = self._whole_phrase(3)
            return "; ".join(f"{spoken(n)} is {self._colour(n) or 'of a colour I do not know'}" for n in names)
        if self._words[0] == "what" and self._words[1:2] in (("is",), ("are",), ("lies",)):
            for place, end in self._parser.places_at(2):
                if end == len(self._words):
                    names = self._place_names(place)
                    things = [o.name for o in self._world.objects if self._reader.is_at(o.name, place)]
                    unseen = [n for n in names if self._reader.unseen(n)]
                    if unseen and not things:
                        return f"I do not know: {self._listed(unseen)} has not been seen yet"
                    told = f"{self._listed(things)}{self._known(things)}" if things else "nothing, as far as I know"
                    return told + self._besides_told(place)
        if self._words[0] in ("which", "what"):
            if self._words[1:2] in (("is",), ("are",)) and (said := self._superlative(2)):
                return said
            for _, end in self._parser.phrases_at(1):  # "which cube is the biggest": the cube that is the biggest
                if self._words[end : end + 1] == ("is",):
                    words = ("the", *self._words[1:end], "that", *self._words[end:])
                    if said := _Asker(self._domain, self._world, words)._superlative(0):
                        return said
            return self._selected(
                1, lambda found: f"{self._listed(found)}{self._known(found)}" if found else "none, as far as I know"
            )
        return ""

    def _superlative(self, start: int) -> str:
        """ "the biggest fruit", "the cube that is nearest to the tray": which it is."""
        for phrase, end in self._parser.phrases_at(start):
            if end == len(self._words) and phrase.superlative:
                why = self._is_no_thing if phrase.generic else lambda _: ""
                names = self._vocabulary.names().resolve(phrase, why, self._reader.is_at)
                return f"{self._listed(names)}{self._known(names)}"
        return ""

    # Parts

    def _none(self, phrase: NounPhrase) -> str:
        """That there is nothing of a kind; of a kind that is not known, that nothing is called so."""
        names = self._vocabulary.names()
        strange = phrase.words and names.singular(phrase.words[-1]) not in names.known_nouns
        return f"no, I see none that is called {phrase.words[-1]!r}" if strange else "no, I see none"

    def _is_no_thing(self, name: str) -> str:
        return f"{spoken(name)} is a place" if self._world.by_name[name].type in ("location", "room") else ""

    @staticmethod
    def _is_any(phrase: NounPhrase) -> bool:
        """Whether "is a drawer open?" asks of any, not of one that a task would choose."""
        return phrase.quantity is Quantity.A and not phrase.other

    def _is_in_state(self, state: str, name: str) -> bool:
        return self._world.seems(Literal(state, (name,)))

    def _any_such(
        self, phrase: NounPhrase, holds: Callable[[str], bool], known: Callable[[str], object] = lambda _: True
    ) -> str:
        """Whether as many of the objects described as a phrase says are so, and which. known: whether it is known of
        one.
        """
        every = self._all_of(phrase)
        unseen = [n for n in every if self._reader.unseen(n)]
        found = [n for n in every if n not in unseen and holds(n)]
        if len(found) < phrase.number and unseen:
            return f"I do not know: {self._listed(unseen)} has not been seen yet"
        strange = [n for n in every if not known(n)]
        if len(found) < phrase.number and strange:
            return f"I do not know of {self._listed(strange)}"
        if not found:
            return "no, none as far as I know"
        told = "yes" if len(found) >= phrase.number else f"no, only {len(found)}"
        return f"{told}: {self._listed(found)}{self._known(found)}"

    def _selected(self, start: int, say: Callable[[list[str]], str]) -> str:
        for phrase, end in reversed(self._parser.phrases_at(start)):
            rest = self._words[end:]
            if rest in _SEE:
                found = self._all_of(phrase)
                if start == 1 and not rest and not found:  # "what happened"
                    continue
                hidden = [n for n in found if self._reader.unseen(n)] if "see" in rest else []
                return say([n for n in found if n not in hidden]) + self._besides(hidden)
            if rest[:1] in (("is",), ("are",)):
                for place, last in self._parser.places_at(end + 1):
                    if last == len(self._words):
                        places = self._place_names(place)
                        found = self._all_of(phrase)
                        if phrase.generic:  # "how many things": those of which it can be told
                            found = [n for n in found if self._reader.can_be_at(n, place)]
                        self._check_told(found, place)
                        self._check_near(found, place)
                        there = [n for n in found if self._reader.is_at(n, place)]
                        if not there and (unseen := [n for n in places if self._reader.unseen(n)]):
                            return f"I do not know: {self._listed(unseen)} has not been seen yet"
                        more = [n for n in found if n not in there] if any(map(self._is_room, places)) else []
                        return say(there) + self._besides(more)
                if len(self._words) == end + 2 and (colour := self._words[end + 1]) in english()["colours"]:
                    return say(self._so_coloured(self._all_of(phrase), colour))
                if rest[1:] == ("empty",):
                    found = self._all_of(phrase)
                    if unseen := [n for n in found if self._reader.unseen(n)]:
                        return f"I do not know: {self._listed(unseen)} has not been seen yet"
                    return say([n for n in found if not self._at(n)])
                for template, last in self._parser.states_at(end + 1):
                    if last == len(self._words):
                        of = self._all_of(phrase)
                        so = [n for n in of if Literal(template.split("(")[0], (n,)) in self._world.facts]
                        return say(so) + self._besides(n for n in of if n not in so)
        return ""

    def _all_of(self, phrase: NounPhrase) -> list[str]:
        """All known objects that match a description; an empty result is valid."""
        try:
            found = self._named(replace(phrase, quantity=Quantity.ALL, number=0))
            if phrase.generic and not phrase.places:  # "how many things are there": a place is none
                return [n for n in found if self._world.by_name[n].type not in ("location", "room")]
            return found
        except GoalError as error:
            if "unknown object" in str(error) or "no such thing" in str(error):
                return []
            raise

    def _whole_phrase(self, start: int) -> list[str]:
        for phrase, end in self._parser.phrases_at(start):
            if end == len(self._words):
                return self._named(phrase)
        raise NotCoveredError("no noun phrase")

    def _named(self, phrase: NounPhrase, several: bool = True, state: str = "") -> list[str]:
        """Objects that a description refers to; of everything those that can be carried, or be in that state."""

        def why(name: str) -> str:
            if phrase.generic != "everything":
                return ""
            if not state or self._is_room(name):
                return self._reader.not_carried(name)
            return misfit(self._domain, self._world, Literal(state, (name,)))

        return self._vocabulary.names().resolve(phrase, why, self._reader.is_at, several=several)

    def _place_names(self, place: Place) -> list[str]:
        every = Quantity.ALL  # "in a tray": in any
        return [
            n
            for p in place.things
            for n in self._named(replace(p, quantity=every) if p.quantity is Quantity.A and not p.other else p)
        ]

    def _at(self, place: str) -> list[str]:
        opens = Literal("can_open", (place,)) in self._world.facts  # what is on a fridge is not in it
        return [
            f.args[0]
            for p in (("in", "inside") if opens else ("in", "on", "at", "inside"))
            for f in self._world.by_predicate.get(p, ())
            if f.args[1:] == (place,)
        ]

    def _colour(self, name: str) -> str:
        told = str(self._world.by_name[name].attributes.get("colour") or "")
        features = self._vocabulary.names().features[name]
        return told or " and ".join(c for c in english()["colours"] if c in features)

    def _so_coloured(self, names: Iterable[str], colour: str) -> list[str]:
        """Those of a colour; raises GoalError where of one it is not known, or it has another one as well."""
        found = []
        for name in names:
            colours = {*self._colour(name).split()} - {"and"}
            if not colours or (colour in colours and len(colours) > 1):
                raise GoalError(f"{spoken(name)} is {' and '.join(sorted(colours)) or 'of a colour I do not know'}")
            found += [name] if colour in colours else []
        return found

    def _verdict(self, literals: list[Literal]) -> str:
        unknown = [g for g in literals if self._reader.unseen(g.args[0]) and not self._world.seems(g)]
        wrong = [g for g in literals if not self._world.seems(g) and g not in unknown]
        if unknown and not wrong:
            return f"I do not know: {self._listed(g.args[0] for g in unknown)} has not been seen yet"
        known = self._known(dict.fromkeys(name for g in wrong or literals for name in g.args))
        if wrong:
            return "no, " + "; ".join(self._domain.phrase(g.negated()) for g in wrong) + known
        return "yes, " + "; ".join(self._domain.phrase(g) for g in literals) + known

    def _whereabouts(self, name: str) -> str:
        if self._reader.unseen(name):
            return f"{spoken(name)} has not been seen yet, so I do not know where it is"
        here = [
            f
            for p in ("holding", "holds_rh", "holds_lh", "worn", "on", "in", "inside", "at", "in_room")
            for f in self._world.by_predicate.get(p, ())
            if f.args[:1] == (name,)
        ]
        said = " and ".join(self._domain.phrase(f) for f in here if f.predicate != "in_room" or len(here) == 1)
        if said:
            return said + self._known([name])
        place = self._world.by_name[name].position
        if place is None:
            return f"where {spoken(name)} is I do not know"
        at = f"{spoken(name)} is at x {place[0]:.2f} m, y {place[1]:.2f} m"
        return (
            at
            + (" from the robot's base, y to its left" if self._domain.name == "tabletop" else "")
            + self._known([name])
        )

    def _known(self, names: Iterable[str]) -> str:
        """Age of the knowledge, where the object is not seen now."""
        said = []
        for name in names:
            if self._world.by_name[name].known in _NOT_SEEN:
                said.append(f"{spoken(name)} is {self._world.how_known(name)}")
        more = f"; {len(said) - _MOST} more are not seen now" if len(said) > _MOST else ""
        return f" ({'; '.join(said[:_MOST])}{more})" if said else ""

    def _listed(self, names: Iterable[str], how: Callable[[str], str] | None = None) -> str:
        """Names in words, each with how(name) in brackets."""
        found = [spoken(n) + (f" ({how(n)})" if how else "") for n in names]
        return ", ".join(found[:_MOST]) + (f" and {len(found) - _MOST} more" if len(found) > _MOST else "")
