"""Answers to questions about the world, without a model. A question never causes an action."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import Known, Literal, World, WorldObject
from planweave.core.workflow.question import Clarification
from planweave.goals.clause_goals import ClauseGoals
from planweave.goals.goal_checks import misfit, only_seen
from planweave.goals.lexicon import english
from planweave.goals.noun_phrases import NotCoveredError
from planweave.goals.sentence_tree import NounPhrase, Place, Quantity
from planweave.goals.sentence_vocabulary import SentenceVocabulary
from planweave.goals.sentence_words import Words, longest, phrases

_THERE = phrases(["is there", "are there", "do we have"])
_SEE = phrases(["do you see", "can you see", "you see", "you can see", "do you know"])
_ALL = phrases(["list objects", "list everything", "what things are there", "what is here", "what is on the scene"])
_SHOWN = (
    phrases([f"what {said}" for said in ("do you see", "can you see", "is there", "are there", "do we have")]) | _ALL
)
_REST = _THERE | _SEE | phrases(["are here", "are on the scene"]) | {()}
_ABILITIES = phrases(
    [
        "what can you do",
        "what do you do",
        "what can i say",
        "what can i ask",
        "help",
        "how can you help me",
        "can you help me",
    ]
    + ["what are you able to do", "who are you", "what are you", "what do you understand"]
)
_HELD = phrases(
    [
        "what are you holding",
        "what do you hold",
        "are you holding anything",
        "are you holding something",
        "do you hold anything",
    ]
    + [f"what is in {hand}" for hand in ("your hand", "the gripper", "your gripper")]
)
_WHERE = phrases(
    ["where is", "where are", "where can i find", "can you reach"]
    + [f"what {c} {be}" for c in ("color", "colour") for be in ("is", "are")]
)
_WHERE_ARE_YOU = phrases(["where are you", "where am i", "which room are you in", "what room are you in"])
_PLACED = ("holding", "holds_rh", "holds_lh", "worn", "on", "in", "inside", "at", "in_room")
_MOST = 25  # things named in an answer
_FEW = 5  # things never seen that are named, and not only counted
_NOT_SEEN = (Known.REMEMBERED, Known.INFERRED)


def is_question(words: Words, asked: bool) -> bool:
    """Whether words, without politeness, are a question. asked: they end with a question mark."""
    if not words:
        return False
    helps = words[0] in ("do", "have", "has", "can", "will", "may")
    begins = words[0] in english()["questions"] and (not helps or words[1:2] in {(w,) for w in english()["asked"]})
    told = words[:3] in (("tell", "me", "what"), ("tell", "me", "where"), ("tell", "me", "how"))
    return begins or told or words in _ALL | {("help",)} or (asked and words[0] in ("any", "anything"))


def answer(domain: Domain, world: World, words: Words, clarifications: Sequence[Clarification] = ()) -> str:
    """The answer in words; raises GoalError where the question is not supported."""
    asker = _Asker(domain, world, words[2:] if words[:2] == ("tell", "me") else words, clarifications)
    for rule in (asker.about_itself, asker.seen, asker.where, asker.there_is, asker.yes_or_no, asker.which):
        try:
            said = rule()
        except NotCoveredError:
            continue
        if said:
            silent = "no detections come now; as last seen: " if world.silent else ""
            return silent + said[0].upper() + said[1:]
    raise GoalError(
        'that is a question, and nothing is done for it; answered are questions such as "what do you see?", '
        '"where is the …?", "is the … in the …?", "how many … are there?" and "what can you do?"'
    )


@dataclass(frozen=True)
class _Condition:
    """Condition asked of things. holds: of one, None where it is not known; said: that it is so, or not, in words;
    places: objects that it names; state: predicate of a state.
    """

    holds: Callable[[str], bool | None]
    said: Callable[[str, bool], str]
    places: Sequence[str] = ()
    state: str = ""


class _Asker:
    """Answers one question about one world."""

    def __init__(self, domain: Domain, world: World, words: Words, clarifications: Sequence[Clarification]) -> None:
        self._domain, self._world = domain, world
        vocabulary = self._vocabulary = SentenceVocabulary(domain, world, clarifications)
        self._words, _, unknown = vocabulary.mended(words)
        self._parser = vocabulary.parser(self._words, unknown)
        self._reader = ClauseGoals(vocabulary)
        self._names = self._reader.names

    # Rules: each gives the answer, or "" where it does not apply

    def about_itself(self) -> str:
        """Abilities of the robot, what it holds, and where it is."""
        if self._words in _ABILITIES:
            goals = [p for p in self._domain.predicates.values() if p.goal][:8]
            shown = "; ".join(_in_general(p.phrase, p.parameters) for p in goals)
            return (
                f'I do tasks such as "{self._domain.example}": put, take, stack or move things, and tell what I see. '
                f"Goals can be, among others: {shown}. docs/sentences.md lists what is understood"
            )
        if self._words in _HELD:
            held = [f.args[0] for p in _PLACED[:3] for f in self._world.by_predicate.get(p, ())]
            return f"I hold {self._listed(held)}" if held else "I hold nothing"
        if self._words in _WHERE_ARE_YOU:
            here = [f for p in ("agent_in", "agent_on") for f in self._world.by_predicate.get(p, ())]
            return " and ".join(map(self._domain.phrase, here)) if here else "I stand at the table"
        return ""

    def seen(self) -> str:
        """ "what do you see?", "what is on the table?", where the table is all that there is."""
        whole = (w.split(" ", 1)[1] for w in (self._domain.extra.get("goals") or {}).get("whole", ()))
        on_all = " ".join(self._words) in {f"what is {on} {all_}" for all_ in whole for on in ("on", "in")}
        if self._words not in _SHOWN and not (on_all and self._words[-1] not in self._names.known_nouns):
            return ""
        hidden = [o.name for o in self._world.objects if self._reader.unseen(o.name)]
        known = [o for o in self._world.objects if o.type not in ("location", "room") and o.name not in hidden]
        away = [o.name for o in known if o.known in _NOT_SEEN]
        names = [o.name for o in known if o.known not in _NOT_SEEN]
        return (
            (f"I see {self._listed(names)}" if names else "I see nothing")
            + (f"; not seen now: {self._listed(away, self._world.how_known)}" if away else "")
            + (f"; {len(hidden)} more things are known to be in the home but have not been seen yet" if hidden else "")
        )

    def where(self) -> str:
        """ "where is the pear?", "what colour is the pear?", "can you reach the pear?"."""
        start = next((n for n in (4, 3, 2) if self._words[:n] in _WHERE), 0)
        names = self._named(start) if start else []
        if self._words[:1] == ("what",):
            return "; ".join(map(self._colour_of, names))
        if self._words[:1] == ("can",) and names:
            far = [n for n in names if Literal("reachable", (n,)) not in self._world.facts]
            return f"no, {self._listed(far)} is out of reach" if far else f"yes, {self._listed(names)} is within reach"
        return "; ".join(map(self._whereabouts, names))

    def there_is(self) -> str:
        """ "is there a banana?", "are there any cubes in the tray?", "do you see a cube?"."""
        start = longest(self._words, 0, _THERE | _SEE)
        if not start:
            return ""
        if longest(self._words, start, phrases(english()["free_space"])):
            raise GoalError("whether there is room is not answered; ask what is there")
        if self._words[start : start + 1] in (("anything",), ("something",)):
            return self._anything(start + 1)
        return self._any_of(start, seen=self._words[:start] in _SEE)

    def _any_of(self, start: int, seen: bool = False) -> str:
        """Whether there is what the words from a position on describe."""
        for phrase, _ in self._whole_phrases(start):
            places = [n for p in phrase.places for n in self._place_names(p)]
            found, every = self._every(phrase), self._every(replace(phrase, places=()))
            hidden = [n for n in every if self._reader.unseen(n)]
            if seen and (phrase.generic == "everything" or any(map(self._is_room, found))):
                raise GoalError("that is not answered; ask what is there")
            found = [n for n in found if not seen or n not in hidden]
            if seen and hidden and not found:
                return f"no, {self._listed(hidden)} has not been seen yet"
            if places and not found:
                unsure = [n for n in places if self._reader.unseen(n)] or hidden
                if unsure:
                    return self._unknown(unsure)
                _ = [self._is_there(n, p) for n in every for p in phrase.places]
            if not found:
                strange = phrase.words and self._names.singular(phrase.words[-1]) not in self._names.known_nouns
                return f"no, I see none that is called {phrase.words[-1]!r}" if strange else "no, I see none"
            told = "yes"
            if phrase.number > 1 or phrase.quantity is Quantity.EXACTLY:
                said = "there are" if len(found) > phrase.number else "yes" if len(found) == phrase.number else "no"
                told = f"{said}, {len(found)}"
            return f"{told}: {self._listed(found)}{self._known(found)}"
        return ""

    def yes_or_no(self) -> str:
        """ "is the pear in the bowl?", "is the fridge open?", "is the bowl empty?", "is any cube green?"."""
        if self._words[:1] not in (("is",), ("are",)):
            return ""
        if self._words[1:2] in (("anything",), ("something",)):
            return self._anything(2)
        coloured = self._words[-1] in english()["colours"]  # "the apple red" is no apple
        parser = self._vocabulary.parser(self._words[:-1]) if coloured else self._parser
        for phrase, end in parser.phrases_at(1):
            for condition in self._conditions(end):
                if phrase.quantity is Quantity.A:
                    return self._any_of(1) if condition.places else self._any_such(phrase, condition)
                names = self._resolved(phrase, condition.state)
                no = [n for n in names if condition.holds(n) is False]
                unknown = [n for n in names if condition.holds(n) is None]
                if unknown and not no:
                    return condition.said(unknown[0], False) if coloured else self._unknown(unknown)
                told = no or names
                said = "; ".join(dict.fromkeys(condition.said(n, not no) for n in told))
                joint = "" if not said else "; " if coloured or condition.places else ", "
                return f"{'no' if no else 'yes'}{joint}{said}{self._known([*told, *condition.places])}"
        return ""

    def which(self) -> str:
        """ "what is on the table?", "which cubes are in the tray?", "how many cubes are there?"."""
        if self._words[:2] in (("what", "is"), ("what", "are")):
            for place, end in self._parser.places_at(2):
                if end == len(self._words):
                    return self._there(place, "nothing, as far as I know")
        count = self._words[:2] == ("how", "many")
        if not count and self._words[:1] not in (("which",), ("what",)):
            return ""
        for phrase, end in self._parser.phrases_at(1 + count):
            rest, every = self._words[end:], self._every(phrase)
            hidden = [n for n in every if self._reader.unseen(n)]
            if rest in _REST and (every or rest or count):
                unseen = hidden if rest in _SEE else []
                return self._told([n for n in every if n not in unseen], unseen, count)
            for condition in self._conditions(end + 1) if rest[:1] in (("is",), ("are",)) else ():
                found = [n for n in every if condition.holds(n)]
                if not found and (unseen := [n for n in condition.places if self._reader.unseen(n)]):
                    return self._unknown(unseen)
                if any(n not in hidden and condition.holds(n) is None for n in every):
                    raise GoalError(f"of {self._listed(every)} not all is known; ask of one of them")
                room = not condition.places or any(map(self._is_room, condition.places))
                return self._told(found, [n for n in hidden if n not in found] if room else [], count)
        return ""

    # Parts

    def _conditions(self, at: int) -> Iterator[_Condition]:
        """What the words from a position on ask of things."""
        rest = self._words[at:]
        if rest == ("empty",):
            yield _Condition(lambda n: self._is_empty(n), self._empty_said)
        if len(rest) == 1 and rest[0] in english()["colours"]:
            yield _Condition(lambda n: self._has_colour(n, rest[0]), lambda n, so: "" if so else self._colour_of(n))
        for template, end in self._parser.states_at(at):
            if end == len(self._words):
                yield self._in_state(template.split("(")[0])
        for place, end in self._parser.places_at(at):
            if end == len(self._words):
                yield self._at_place(place)

    def _in_state(self, state: str) -> _Condition:
        def holds(name: str) -> bool | None:
            unsure = self._reader.unseen(name) or only_seen(self._domain, Literal(state, (name,)))
            return True if self._world.seems(Literal(state, (name,))) else None if unsure else False

        return _Condition(holds, lambda n, so: self._domain.phrase(Literal(state, (n,), so)), state=state)

    def _at_place(self, place: Place) -> _Condition:
        names = self._place_names(place)
        return _Condition(lambda n: self._is_there(n, place), lambda n, so: "" if so else self._whereabouts(n), names)

    def _is_there(self, name: str, place: Place) -> bool | None:
        if self._reader.is_at(name, place):
            return True
        if self._reader.is_beside(place):
            if self._bears(self._world.by_name[name]):
                raise GoalError(f"of {spoken(name)} it is not known whether it is {place.word!r} something")
            if self._reader.nearly_at(name, place):
                raise GoalError(f"whether {spoken(name)} counts as {place.word!r} is not clear; ask where it is")
        return None if self._reader.unseen(name) else False

    def _bears(self, thing: WorldObject) -> bool:
        """Whether it is there for others to be in or on."""
        return self._domain.is_a(thing.type, ("container", "surface", "fixture", "part"))

    def _there(self, place: Place, nothing: str, yes: str = "") -> str:
        """What is at a place, as far as it is known."""
        names = self._place_names(place)
        found = [o.name for o in self._world.objects if self._reader.is_at(o.name, place)]
        unseen = [n for n in names if self._reader.unseen(n)]
        if unseen and not found:
            return self._unknown(unseen)
        told = f"{yes}{self._listed(found)}{self._known(found)}" if found else nothing
        fixed: list[str] = []
        if self._reader.is_beside(place):
            others = [o for o in self._world.objects if o.type not in ("location", "room") and o.name not in names]
            for each in [o.name for o in others if not self._bears(o)]:
                self._is_there(each, place)
            fixed = [o.name for o in others if self._bears(o) and o.name not in found]
        told += f"; of {self._listed(fixed)} I cannot tell" if fixed else ""
        return told + self._hidden_there(names)

    def _anything(self, at: int) -> str:
        places = [place for place, end in self._parser.places_at(at) if end == len(self._words)]
        return self._there(places[0], "no, nothing as far as I know", "yes: ") if places else ""

    def _any_such(self, phrase: NounPhrase, condition: _Condition) -> str:
        """Whether as many of the objects described as a phrase says are so, and which."""
        every = self._every(phrase)
        found = [n for n in every if condition.holds(n)]
        unknown = [n for n in every if condition.holds(n) is None]
        if len(found) < phrase.number and unknown:
            return self._unknown(unknown)
        if not found:
            return "no, none as far as I know" if every else "no, I see none"
        told = "yes" if len(found) >= phrase.number else f"no, only {len(found)}"
        return f"{told}: {self._listed(found)}{self._known(found)}"

    def _told(self, found: Sequence[str], hidden: Sequence[str], count: bool) -> str:
        """The answer: which objects, or how many, and what may count as well: objects never seen."""
        listed = f"{self._listed(found)}{self._known(found)}" if found else ""
        told = f"{len(found)}{': ' if found else ''}{listed}" if count else listed or "none, as far as I know"
        if len(hidden) > _FEW:
            return f"{told}; {len(hidden)} more have not been seen yet"
        return f"{told}; {self._listed(hidden)} has not been seen yet" if hidden else told

    def _unknown(self, names: Sequence[str]) -> str:
        unseen = [n for n in names if self._reader.unseen(n)]
        return f"I do not know: {self._listed(unseen)} has not been seen yet" if unseen else self._colour_of(names[0])

    def _whole_phrases(self, at: int) -> list[tuple[NounPhrase, int]]:
        return [(phrase, end) for phrase, end in self._parser.phrases_at(at) if end == len(self._words)]

    def _named(self, at: int) -> list[str]:
        for phrase, _ in self._whole_phrases(at):
            return self._resolved(phrase)
        raise NotCoveredError("no noun phrase")

    def _resolved(self, phrase: NounPhrase, state: str = "") -> list[str]:
        """Objects that a description refers to; of everything those that can be in that state, or be carried."""
        if phrase.pronoun:
            raise GoalError(f"{phrase.text!r} refers to nothing named before; say which thing is meant")

        def why(name: str) -> str:
            literal = Literal(state, (name,))
            if state:
                return "" if self._world.seems(literal) else misfit(self._domain, self._world, literal)
            return self._reader.not_carried(name) if phrase.generic else ""

        return self._names.resolve(phrase, why)

    def _every(self, phrase: NounPhrase) -> list[str]:
        """All known objects that match a description; none is a valid result."""
        try:
            found = self._names.resolve(replace(phrase, quantity=Quantity.ALL, number=0, superlative=""))
        except GoalError as error:
            if "unknown object" in str(error) or "no such thing" in str(error):
                return []
            raise
        places = ("location", "room") if phrase.generic and not phrase.places else ()
        return [n for n in found if self._world.by_name[n].type not in places]

    def _place_names(self, place: Place) -> list[str]:
        below = {word for words in english()["inverse"].values() for word in words}
        known = "under" not in self._domain.predicates or any(f.predicate == "room_under" for f in self._world.facts)
        if place.word in below and not known:
            raise GoalError(f"what is {place.word} a thing is not known here; ask what is on it, or where it is")
        return [n for thing in place.things for n in self._names.resolve(thing)]

    def _is_room(self, name: str) -> bool:
        return self._world.by_name[name].type == "room"

    def _hidden_there(self, places: Iterable[str]) -> str:
        """How many things never seen may be in rooms and closed things."""
        hidden = sum(self._reader.unseen(o.name) for o in self._world.objects)
        shut = any(Literal("closed", (n,)) in self._world.facts or self._is_room(n) for n in places)
        return f"; {hidden} things have not been seen yet and may be there" if hidden and shut else ""

    def _inside(self, place: str) -> list[str]:
        opens = Literal("can_open", (place,)) in self._world.facts  # what is on a fridge is not in it
        of = ("in", "inside") if opens else ("in", "on", "at", "inside")
        return [f.args[0] for p in of for f in self._world.by_predicate.get(p, ()) if f.args[1:] == (place,)]

    def _is_empty(self, place: str) -> bool | None:
        inside = self._inside(place)
        return None if not inside and self._reader.unseen(place) else not inside

    def _empty_said(self, place: str, so: bool) -> str:
        inside = self._inside(place)
        if not so:
            return f"{self._listed(inside)} is there{self._known(inside)}"
        return f"as far as I know nothing is in {spoken(place)}{self._hidden_there([place])}"

    def _colours(self, name: str) -> list[str]:
        told = str(self._world.by_name[name].attributes.get("colour") or "").split()
        return [c for c in told if c != "and"] or [c for c in english()["colours"] if c in self._names.features[name]]

    def _has_colour(self, name: str, colour: str) -> bool | None:
        colours = self._colours(name)
        return None if not colours or (colour in colours and len(colours) > 1) else colour in colours

    def _colour_of(self, name: str) -> str:
        return f"{spoken(name)} is {' and '.join(self._colours(name)) or 'of a colour I do not know'}"

    def _whereabouts(self, name: str) -> str:
        if self._reader.unseen(name):
            return f"{spoken(name)} has not been seen yet, so I do not know where it is"
        here = [f for p in _PLACED for f in self._world.by_predicate.get(p, ()) if f.args[:1] == (name,)]
        said = " and ".join(self._domain.phrase(f) for f in here if f.predicate != "in_room" or len(here) == 1)
        place = self._world.by_name[name].position
        if not said and place is None:
            return f"where {spoken(name)} is I do not know"
        from_base = " from the robot's base, y to its left" if self._domain.name == "tabletop" else ""
        at = f"{spoken(name)} is at x {place[0]:.2f} m, y {place[1]:.2f} m{from_base}" if place else ""
        return (said or at) + self._known([name])

    def _known(self, names: Iterable[str]) -> str:
        """Age of the knowledge, where the object is not seen now."""
        away = [n for n in dict.fromkeys(names) if self._world.by_name[n].known in _NOT_SEEN]
        said = "; ".join(f"{spoken(n)} is {self._world.how_known(n)}" for n in away[:_MOST])
        more = f"; {len(away) - _MOST} more are not seen now" if len(away) > _MOST else ""
        return f" ({said}{more})" if away else ""

    def _listed(self, names: Iterable[str], how: Callable[[str], str] | None = None) -> str:
        """Names in words, each with how(name) in brackets."""
        found = [spoken(n) + (f" ({how(n)})" if how else "") for n in names]
        return ", ".join(found[:_MOST]) + (f" and {len(found) - _MOST} more" if len(found) > _MOST else "")


def _in_general(phrase: str, parameters: Iterable[object]) -> str:
    """The phrase of a predicate with the types of its objects, "the item is in the container"."""
    for parameter in parameters:
        kind = " or ".join(sorted(map(spoken, parameter.types - {"object"}))) or "thing"  # type: ignore[attr-defined]
        phrase = phrase.replace("{" + parameter.name.lstrip("?") + "}", kind)  # type: ignore[attr-defined]
    return phrase
