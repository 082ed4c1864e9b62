"""Reference resolution of noun phrases: "the red one", "both cubes", "all fruit but the pear", "two of the others"."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from planweave.core.base.errors import GoalError, close_names
from planweave.core.symbolic.domain import spoken
from planweave.core.symbolic.world import Literal
from planweave.core.workflow.question import AmbiguityError
from planweave.goals.alternatives import MOST_CHOICES, object_question
from planweave.goals.lexicon import english
from planweave.goals.sentence_tree import NounPhrase, Place, Quantity
from planweave.goals.word_descriptions import Descriptions

APART = 0.01  # metres by which one thing must be farther out than the next to be the leftmost or nearest
NEARLY = 0.03  # metres by which a thing may miss "next to" or "between" and be meant, where no other comes near
CLEARLY = 0.05  # metres by which it is nearer than any other
BIGGER = 1.15  # times the volume by which one thing must be larger than the next to be the biggest

_FEW = 60  # objects all of which are looked through for what an unknown word may mean

Why = Callable[[str], str]  # object -> why it cannot be meant here, "" where it can


class NotCoveredError(Exception):
    """The sentence is outside the controlled English; a model may understand it. ambiguity: what to ask a person where
    no model does.
    """

    ambiguity: AmbiguityError | None = None


@dataclass
class NounPhrases(Descriptions):
    """Resolves noun phrases in order, with the objects mentioned before as context."""

    last: list[str] = field(default_factory=list)  # what "it" and "them" mean
    place: list[str] = field(default_factory=list)  # what "it" means where the last thing does not do
    mentioned: dict[str, None] = field(default_factory=dict)
    head: str = ""  # noun of the last thing, for "the blue one"
    said: dict[str, tuple[str, ...]] = field(default_factory=dict)  # words beside each noun, for "another one"
    kinds_said: set[str] = field(default_factory=set)  # nouns of the things so far, for "the others"
    claimed: set[str] = field(default_factory=set)  # named elsewhere in the sentence: "a cube" means another one
    notes: list[str] = field(default_factory=list)  # what was chosen
    moved: dict[str, str] = field(default_factory=dict)  # what earlier clauses move, to what; held: itself
    shortfall: Callable[[str, Place], float] | None = None  # metres by which a thing misses a place beside others
    clarified: Mapping[tuple[int, str], tuple[str, ...]] = field(default_factory=dict)  # what a person said is meant
    carrying: bool = False  # whether things are to be brought somewhere: "everything" leaves out furniture then

    def resolve(
        self,
        phrase: NounPhrase,
        why: Why,
        holds_at: Callable[[str, Place], bool],
        *,
        several: bool = True,
        head: str = "",
        without: Sequence[str] = (),
        prefer: Callable[[str], bool] | None = None,
        taken: Callable[[str], bool] | None = None,
    ) -> list[str]:
        """Names of the objects referred to, in the world's order. Raises GoalError, NotCoveredError.

        why: returns why an object is excluded; holds_at: whether an object is at a place now; several: whether more
        than one object is allowed; head: noun for a phrase without one ("the red and the green cube"); without:
        excluded objects; prefer: preferred reference of "it"; taken: objects that "a cube" avoids if possible.
        """
        if clarified := self._clarified(phrase, why, without):
            return clarified
        if phrase.pronoun:
            return self._pronoun(phrase, several, prefer)
        seen_from = (self.domain.extra.get("goals") or {}).get("seen_from", "person")
        if seen_from != "person" and {*pairwise(phrase.text.split())} & {("my", "left"), ("my", "right")}:
            raise GoalError(f"{phrase.text!r}: left and right are the {seen_from}'s here; say it without 'my'")
        vague = not phrase.text.startswith("some")  # "some milk" is the milk, "half the milk" is not
        if phrase.quantity is Quantity.SOME and (vague or phrase.plural or phrase.generic or self._mass(phrase)):
            raise GoalError(f'{phrase.text!r} leaves open how many are meant; say a number, or "all"')
        if phrase.quantity is Quantity.NONE:
            raise GoalError(f"nothing is to be done with {phrase.text!r}; say what should be where")
        if phrase.number == 0 and phrase.quantity in (Quantity.A, Quantity.EXACTLY):
            raise GoalError(f"{phrase.text!r} is no number of things")
        found, noun = self._described(phrase, head, why)
        described = found
        for place in phrase.places:
            there = [n for n in found if holds_at(n, place)] or self._nearly(phrase, found, place)
            if place.bare and not set(there) & set(found):  # "put the cube not in the tray" is no other cube
                raise GoalError(f"{phrase.text!r}: 'not' tells no things apart here; say what should be where")
            found = [n for n in found if (n in there) != place.negated]
        if phrase.places and not found:
            none = f"{phrase.text!r}: no such thing is known to be there now"
            near = [[n] for n in described if not why(n)] if self._is_one(phrase) else []
            raise self.unclear(none, phrase, near, f"{none}; which is meant?")
        found = self._others(phrase, found, why)
        meant = {n for n in found if n not in without and not why(n)}
        left_out = self.named(phrase.exceptions, noun, holds_at, lambda n: "" if n in meant else "not among them")
        if any(e.superlative for e in phrase.exceptions) and {*without} & {*found}:  # is the place itself counted?
            counted_ = meant | {n for n in without if n in found}
            counted = self.named(phrase.exceptions, noun, holds_at, lambda n: "" if n in counted_ else "no")
            if counted - {*without} != left_out:
                raise GoalError(f"{phrase.text!r}: whether the place itself counts is not clear; name what is left out")
        self._check_colours(phrase, meant)
        if taken and any(e.quantity is Quantity.A for e in phrase.exceptions) and any(map(taken, meant)):
            so = ", ".join(spoken(n) for n in found if n in meant and taken(n))
            raise GoalError(f"{phrase.text!r}: {so} is so already; name what is left out")
        self._check_scope(phrase, [n for n in found if not why(n)], left_out, noun, holds_at)
        found = [n for n in found if n not in left_out]
        if phrase.superlative:
            fitting = [n for n in found if not why(n)] or found
            pair = len(found) == 2 and len(english()["superlatives"][phrase.superlative]) == 3
            of_all = fitting + [n for n in left_out if n not in fitting]
            found = self._most(phrase, found if pair else fitting, holds_at)  # "the small cylinder on the big one"
            if left_out and {*self._most(phrase, of_all, holds_at)} != {*found}:
                raise GoalError(f"{phrase.text!r}: counted with what is left out, or without, is not clear; name them")
        names = self._counted(phrase, found, why, set(without), several, taken, prefer)
        if noun:
            self.head = noun
        if noun and phrase.words:
            self.said[noun] = tuple(w for w in map(self.singular, phrase.words) if w != noun)
        for name in names:
            self.mentioned[name] = None
        return names

    def _clarified(self, phrase: NounPhrase, why: Why, without: Sequence[str]) -> list[str]:
        """What a person said that a phrase means; none where it was not asked about, or cannot be meant any more."""
        names = list(self.clarified.get((phrase.at, phrase.text), ()))
        if any(n not in self.world.by_name or n in without or why(n) for n in names):
            return []
        if names and not phrase.pronoun:
            noun = self.singular(phrase.words[-1]) if phrase.words else ""
            self.head = noun if noun in self.known_nouns else self.head
            self.mentioned.update(dict.fromkeys(names))
        return names

    def unclear(
        self, message: str, phrase: NounPhrase, candidates: Iterable[Sequence[str]], text: str = ""
    ) -> GoalError:
        """The error of a phrase that may mean any of the candidates; a question for a person where one can be asked."""
        question = object_question(self.domain, self.world, phrase.text, phrase.at, list(candidates), text)
        return AmbiguityError(message, question) if question and phrase.at >= 0 else GoalError(message)

    def _is_one(self, phrase: NounPhrase) -> bool:
        """Whether a phrase speaks of one certain thing."""
        certain = phrase.quantity in (Quantity.THE, Quantity.BARE)
        return certain and not (phrase.plural or phrase.rest or phrase.other or phrase.pronoun or self._mass(phrase))

    def _nearly(self, phrase: NounPhrase, found: Sequence[str], place: Place) -> list[str]:
        """Of several things none of which is beside or between others, strictly, the one that clearly comes nearest."""
        if self.shortfall is None or len(found) < 2 or phrase.quantity not in (Quantity.THE, Quantity.BARE):
            return []
        lack = {n: self.shortfall(n, place) for n in found}
        first, second, *_ = sorted(found, key=lambda n: lack[n])
        if lack[first] > NEARLY or lack[second] < lack[first] + CLEARLY:
            return []
        self.notes.append(f"nearest to being {place.word} it is {spoken(first)}")
        return [first]

    def _pronoun(self, phrase: NounPhrase, several: bool, prefer: Callable[[str], bool] | None) -> list[str]:
        word = phrase.pronoun
        if not self.last:
            raise GoalError(f"{word!r} refers to nothing named before; say which thing is meant")
        one_place = len(self.place) == 1 and word in ("them", "they", "these", "those")
        if prefer and self.place and not any(map(prefer, self.last)) and all(map(prefer, self.place)) and not one_place:
            return list(self.place)  # "put the salmon in the fridge and close it"
        if len(self.last) > 1 and (word in ("it", "this", "that") or not several):
            could = f"{word!r} could mean {' or '.join(self.last)}; say which"
            raise self.unclear(could, phrase, [[n] for n in self.last])
        one = len(self.last) == 1 and not self.world.by_name[self.last[0]].class_name.endswith("s")  # but "the pants"
        if one and word in ("them", "they", "these", "those"):
            raise GoalError(f"{word!r} means several things, but only {self.last[0]} was named last; say which")
        if phrase.number and len(self.last) != phrase.number:
            raise GoalError(f"{phrase.text!r} could mean {', '.join(self.last)}: {len(self.last)}, not {phrase.number}")
        return list(self.last)

    def _described(self, phrase: NounPhrase, head: str, why: Why) -> tuple[list[str], str]:
        """Objects that match every word of the description, and the noun that names their kind."""
        words = [self.singular(w) for w in phrase.words]
        for word, *beside in zip(phrase.words, words, ("", *phrase.words), (*phrase.words[1:], "")):
            if not beside[0] and not {*beside[1:]} & {*english()["colours"]}:
                raise GoalError(f"{phrase.text!r}: {word!r} says no colour; name one")
        words = [w for w in words if w]
        self._check_known(phrase, words, why)
        if len(set(words)) < len(words):
            raise NotCoveredError(f"{phrase.text!r} says the same twice")
        things = [o.name for o in self.world.objects]
        if phrase.generic in ("object", "objects", "thing", "things", "item", "items", "stuff", "everything"):
            apart = (self.domain.extra.get("goals") or {}).get("not_everything", ()) if self.carrying else ()
            fit = [n for n in things if self.features[n].issuperset(words)]
            fit = [n for n in fit if self.world.by_name[n].attributes.get("category") not in apart]
            return self._of_no_other_colour(phrase, fit, words), ""
        if phrase.rest:
            return things, ""
        noun = ""
        if words and not phrase.generic and words[-1] in self.known_nouns:
            noun = words[-1]
            found = [n for n in things if noun in self.heads[n] and self._describes(n, words[:-1])]
            elided = [n for n in things if head and head in self.heads[n] and self.features[n].issuperset(words)]
            if found and head and head != noun and elided and elided != found:
                could = f"{phrase.text!r} could mean {' or '.join([*found, *elided])}; say which"
                apart_ = [found, elided] if phrase.plural else [[n] for n in (*found, *elided) if not why(n)]
                raise self.unclear(could, phrase, apart_)
            if found:
                self._check_side(phrase, found, words, noun, why)
                return self._of_no_other_colour(phrase, self._parts_alone(phrase, found), words), noun
            if not elided:
                raise self._unknown(phrase, words, why)
        for kind in dict.fromkeys([k for k in (head, self.head) if k] + [""]):
            if not kind and not phrase.generic:
                if head or self.head:
                    continue
                raise NotCoveredError(f"{phrase.text!r} names no thing")
            found = [n for n in things if (not kind or kind in self.heads[n]) and self.features[n].issuperset(words)]
            if found:
                if not kind and not words and not phrase.superlative and not phrase.places:
                    raise GoalError(f"it is not clear which things {phrase.text!r} means; name them")
                return self._of_no_other_colour(phrase, found, words), kind
        raise self._unknown(phrase, words, why)

    def _check_side(self, phrase: NounPhrase, found: Sequence[str], words: Sequence[str], noun: str, why: Why) -> None:
        """Raise GoalError where the only such place known is on a side that was not said: "the edge" may be another
        one than the far edge.
        """
        if len(found) != 1 or noun == found[0] or self.world.by_name[found[0]].type != "location":
            return
        if self.features[found[0]] & {*english()["which_side"]} - {*words}:
            could = f"{phrase.text!r}: known of that kind is only the {spoken(found[0])}; say so if it is meant"
            raise self.unclear(could, phrase, [[n] for n in found if not why(n)])

    def _check_known(self, phrase: NounPhrase, words: Sequence[str], why: Why) -> None:
        strange = [
            w
            for w in words
            if w not in self._all_features and w not in self.known_nouns and w not in english()["colours"]
        ]
        if strange and (len(words) > 1 or phrase.plural or strange[0].endswith("s")):
            left = NotCoveredError(f"the word {strange[0]!r} is not known")
            unknown = self._unknown(phrase, words, why)
            left.ambiguity = unknown if isinstance(unknown, AmbiguityError) else None
            raise left
        if strange:
            raise self._unknown(phrase, words, why)

    def _unknown(self, phrase: NounPhrase, words: Sequence[str], why: Why) -> GoalError:
        """The error of a phrase that nothing here is called; it offers what is near to it, or else what is there."""
        kind = words[-1] if words else phrase.text
        alike = [n for n in self.world.by_name if kind in self.heads[n]]
        hint = f"of that kind there are {', '.join(alike)}" if alike and len(words) > 1 else f"seen: {self.seen()}"
        message = f"unknown object {' '.join(words) or phrase.text!r}: nothing here is called so; {hint}"
        close = set(close_names(kind, self.known_nouns))
        near = alike or [n for n in self.world.by_name if close & self.heads[n]]
        offered = near or (list(self.world.by_name) if len(self.world.by_name) <= _FEW else [])
        fitting = [[n] for n in offered if not why(n)] if self._is_one(phrase) else []
        return self.unclear(message, phrase, fitting, f'nothing here is called "{phrase.text}"; what is meant?')

    def seen(self) -> str:
        """Names of the known objects, items before places."""
        names = sorted(self.world.by_name, key=lambda n: (self.world.by_name[n].type in ("location", "room"), n))
        return ", ".join(names[:20]) + (", …" if len(names) > 20 else "") if names else "nothing"

    def _others(self, phrase: NounPhrase, found: list[str], why: Why) -> list[str]:
        """Remove objects mentioned before, where the phrase says "other"; of the same kind, where it says "the
        rest".
        """
        if not phrase.other:
            return found
        if not any(n in found and not why(n) for n in self.mentioned):
            raise GoalError(f"{phrase.text!r} refers to nothing named before; say which things are meant")
        if phrase.rest:
            left = [n for n in found if n not in self.mentioned]
            same = [n for n in left if self.head and self.head in self.heads[n]]
            said = [n for n in left if self.kinds_said & self.heads[n]]
            if (same and set(said) > set(same)) or (not same and len(self.kinds_said) > 1 and said):
                could = f"{phrase.text!r} could mean {', '.join(same or said)}, or others as well; name them"
                raise self.unclear(could, phrase, self._movable([same, said, left], why))
            if same:
                return same
            if phrase.text.endswith((" it", " them")):
                raise GoalError(f"{phrase.text!r}: nothing of that kind is left; name what is meant")
            kinds = [w for n in self.mentioned for w in self.heads[n] if w in self.domain.categories]
            alike = [n for n in left if any(w in self.heads[n] for w in kinds)]
            if alike and self.head not in self.domain.categories:
                could = f"{phrase.text!r} could mean only {', '.join(alike)}, or everything else; say which"
                raise self.unclear(could, phrase, self._movable([alike, left], why))
            return left
        left = [n for n in found if n not in self.mentioned]
        alike = [n for n in left if self.features[n].issuperset(self.said.get(self.head, ()))]
        if (
            phrase.generic in ("one", "ones") and not phrase.words and alike and alike != left
        ):  # "a red fruit … and another one": another red one?
            could = f"{phrase.text!r} could mean only {', '.join(alike)}, or others as well; name what is meant"
            raise self.unclear(could, phrase, [[n] for n in left if not why(n)])
        return left

    @staticmethod
    def _movable(groups: Iterable[Sequence[str]], why: Why) -> list[list[str]]:
        """Of each group what can be meant; groups of which nothing can are left out."""
        fitting = [[n for n in names if not why(n)] for names in groups]
        return [names for names in fitting if names]

    def _check_scope(
        self,
        phrase: NounPhrase,
        found: Sequence[str],
        left_out: set[str],
        noun: str,
        holds_at: Callable[[str, Place], bool],
    ) -> None:
        """Raise GoalError where a place at the end may be that of all: "everything but the radio in the kitchen"."""
        if not phrase.exceptions or phrase.places or not (last := phrase.exceptions[-1]).places:
            return
        bare = (*phrase.exceptions[:-1], replace(last, places=()))
        try:
            needed = self.named(bare, noun, holds_at) != left_out
        except (GoalError, NotCoveredError):
            return
        there = [n for n in found if all(holds_at(n, p) != p.negated for p in last.places) and n not in left_out]
        if not needed and there and set(there) != {*found} - left_out:
            raise GoalError(
                f"{phrase.text!r} may mean {', '.join(map(spoken, there))} only, or all that there are; "
                "say the place before what is left out"
            )

    def named(
        self,
        phrases: Sequence[NounPhrase],
        head: str,
        holds_at: Callable[[str, Place], bool],
        why: Why = lambda _: "",
    ) -> set[str]:
        """Objects that exceptions refer to: all of a kind where no number is given.

        They do not become antecedents of "it". why: what the biggest one cannot be.
        """
        found: set[str] = set()
        kept = (self.head, dict(self.mentioned), list(self.last))
        self.head = head or self.head
        for index, phrase in enumerate(phrases):
            later = next(
                (
                    self.singular(p.words[-1])
                    for p in phrases[index + 1 :]
                    if p.words and self.singular(p.words[-1]) in self.known_nouns
                ),
                head,
            )
            of_what = phrase.generic in ("one", "ones") or not (phrase.words or phrase.generic)
            if of_what and not phrase.pronoun and later != head:
                raise GoalError(f"{phrase.text!r}: one of what is not clear; name what is left out")
            found.update(self.resolve(phrase, why if phrase.superlative else lambda _: "", holds_at, head=later))
        self.head, self.mentioned, self.last = kept
        return found

    def _most(self, phrase: NounPhrase, found: list[str], holds_at: Callable[[str, Place], bool]) -> list[str]:
        axis, end, *of_two = english()["superlatives"][phrase.superlative]
        each = [[n] for n in found] if phrase.quantity in (Quantity.THE, Quantity.BARE) and not phrase.plural else []
        if of_two and len(found) != 2:
            two = f"{phrase.text!r} compares two things, but there are {len(found)}: {', '.join(found)}"
            raise self.unclear(two, phrase, each)
        number = phrase.number if phrase.quantity is Quantity.EXACTLY else 1  # "the two leftmost cubes"
        if number == 1 and (phrase.plural or phrase.quantity not in (Quantity.THE, Quantity.BARE)):
            raise GoalError(f"{phrase.text!r}: only one thing can be the {phrase.superlative}")
        if len(found) < max(number, phrase.rank):
            raise self.unclear(f"{phrase.text!r}: there are only {len(found)} ({', '.join(found)})", phrase, each)
        start = (0.0, 0.0)  # the robot's base, where places are as seen from the robot
        seen_from = (self.domain.extra.get("goals") or {}).get("seen_from")
        if phrase.nearest_to is not None:
            if axis != "reach":
                raise NotCoveredError(f"{phrase.superlative} to something says nothing")
            (to,) = self.resolve(phrase.nearest_to, lambda _: "", holds_at, several=False)
            found = [n for n in found if n != to]
            place = self.world.by_name[to].position
            if place is None:
                raise GoalError(f"where {to} is is not known, so {phrase.text!r} cannot be told")
            start = place[0], place[1]
        elif axis != "size" and (not seen_from or (axis == "reach" and seen_from != "robot")):
            raise self.unclear(f"{phrase.text!r}: seen from where is not known here; name the thing", phrase, each)
        values = {n: self._measure(n, axis, start) for n in found}
        unknown = [n for n, v in values.items() if v is None]
        if unknown:
            of_some = f"{phrase.text!r}: of {', '.join(unknown)} that is not known; name the thing"
            raise self.unclear(of_some, phrase, each)
        order = sorted(found, key=lambda n: values[n] or 0.0, reverse=end == "most")
        for one, two in pairwise(order[max(0, phrase.rank - 2) : phrase.rank + number]):
            if number > 1 and two in order[:number]:
                continue  # among those that are meant the order does not matter
            first, second = values[one] or 0.0, values[two] or 0.0
            alike = abs(first - second) < APART if axis != "size" else max(first, second) < BIGGER * min(first, second)
            if alike:
                could = f"{phrase.text!r} could mean {one} or {two}: they hardly differ; say which"
                raise self.unclear(could, phrase, [[one], [two]] if number == 1 else [])
        chosen = order[phrase.rank - 1 : phrase.rank - 1 + number]
        if axis != "size" and self.moved:
            then = {n: self._measure(self.moved.get(n, n), axis, start) or 0.0 for n in found}
            later = sorted(found, key=lambda n: then[n], reverse=end == "most")[phrase.rank - 1 :][:number]
            elsewhere = phrase.nearest_to is not None and self.moved.get(to, to) != to
            if elsewhere or {*chosen} & {*self.moved} or {*later} != {*chosen}:
                raise GoalError(f"{phrase.text!r} may be another one by then; name the thing")
        if order and axis == "left":
            self.notes.append(f"left and right are the {seen_from}'s")
        return chosen

    def _measure(self, name: str, axis: str, start: tuple[float, float]) -> float | None:
        thing = self.world.by_name[name]
        if axis == "size":
            return math.prod(thing.size) if thing.size else None
        if thing.position is None:
            return None
        return thing.position[1] if axis == "left" else math.dist(thing.position[:2], start)

    def _counted(
        self,
        phrase: NounPhrase,
        found: list[str],
        why: Why,
        without: set[str],
        several: bool,
        taken: Callable[[str], bool] | None,
        prefer: Callable[[str], bool] | None,
    ) -> list[str]:
        """The requested number of objects out of the candidates."""
        broad = phrase.quantity is not Quantity.A and bool(
            phrase.generic in ("everything", "things", "objects", "items", "stuff") or phrase.rest
        )
        all_ = (
            phrase.quantity is Quantity.ALL
            or broad
            or (phrase.quantity in (Quantity.THE, Quantity.BARE) and (phrase.plural or self._mass(phrase)))
        )
        fitting = [n for n in found if n not in without and not why(n)]
        if found and not fitting:
            if broad and phrase.exceptions:
                raise GoalError(f"{phrase.text!r}: nothing that can be meant is left besides what is left out")
            reasons = [why(n) or f"{n} is the place itself" for n in found]
            raise GoalError(f"{phrase.text!r}: {reasons[0]}")
        if not found:
            if phrase.other or phrase.exceptions:
                raise GoalError(f"{phrase.text!r}: nothing of that is left; seen: {self.seen()}")
            raise self._unknown(phrase, [self.singular(w) for w in phrase.words], why)
        if phrase.quantity is Quantity.EXACTLY:
            pool = [n for n in found if n not in without] if not broad else fitting
            if len(pool) != phrase.number:
                could = f"{phrase.text!r} could mean {', '.join(pool)}: {len(pool)}, not {phrase.number}"
                raise self.unclear(could, phrase, _sets(self._movable([pool], why), phrase.number) if several else [])
            fitting, all_ = pool, True
        if all_:
            named = [n for n in found if n not in without]
            if not broad and phrase.quantity is not Quantity.EXACTLY:
                bad = [why(n) for n in named if why(n)]
                if bad:
                    raise GoalError(f"{phrase.text!r}: {bad[0]}")
                fitting = named
            if phrase.quantity is Quantity.EXACTLY:
                bad = [why(n) for n in fitting if why(n)]
                if bad:
                    raise GoalError(f"{phrase.text!r}: {bad[0]}")
            if not several and len(fitting) > 1:
                many = f"{phrase.text!r} means several ({', '.join(fitting)}); name one of them"
                raise self.unclear(many, phrase, [[n] for n in fitting])
            return fitting
        if phrase.quantity is Quantity.A:
            return self._picked(phrase, fitting, several, taken, prefer)
        if prefer and len(fitting) > 1 and any(map(prefer, fitting)):
            fitting = [n for n in fitting if prefer(n)]
        if len(fitting) > 1:
            could = f"{phrase.text!r} could mean {' or '.join(fitting)}; say which"
            raise self.unclear(could, phrase, [[n] for n in fitting])
        return fitting

    def _picked(
        self,
        phrase: NounPhrase,
        fitting: list[str],
        several: bool,
        taken: Callable[[str], bool] | None,
        prefer: Callable[[str], bool] | None,
    ) -> list[str]:
        """An arbitrary choice: prefers objects not mentioned otherwise, then reachable, free and not yet in the
        requested state.
        """
        number = phrase.number or 1
        if number > 1 and not several:
            raise GoalError(f"{phrase.text!r} means several; name one")
        free = [n for n in fitting if n not in self.claimed and n not in self.mentioned]
        if len(free) < number:
            raise GoalError(f"{phrase.text!r}: only {len(free)} such can be meant here ({', '.join(free) or 'none'})")
        if len(free) == number:
            return free

        def unwelcome(name: str) -> tuple[bool, bool, bool, bool]:
            facts = self.world.facts
            return (
                bool(prefer and not prefer(name)),
                bool(taken and taken(name)),
                "reachable" in self.domain.predicates and Literal("reachable", (name,)) not in facts,
                "clear" in self.domain.predicates and Literal("clear", (name,)) not in facts,
            )

        chosen = sorted(sorted(free, key=unwelcome)[:number], key=fitting.index)
        rest = [n for n in free if n not in chosen]
        self.notes.append(
            f"{phrase.text!r} is taken to be {' and '.join(map(spoken, chosen))}; it could be "
            f"{' or '.join(map(spoken, rest[:4]))}{' or others' if len(rest) > 4 else ''} as well"
        )
        return chosen


def _sets(pools: Sequence[Sequence[str]], number: int) -> list[tuple[str, ...]]:
    """Sets of that many of the objects of a pool; none where they are too many to ask for one."""
    if not pools or not 0 < number < len(pools[0]) or math.comb(len(pools[0]), number) > MOST_CHOICES:
        return []
    return list(combinations(pools[0], number))
