"""Reference resolution of noun phrases: "the red one", "both cubes", "all fruit but the pear", "the top drawer"."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from planweave.core.base.errors import GoalError, close_names
from planweave.core.symbolic.domain import spoken
from planweave.core.symbolic.world import PERSON, Literal
from planweave.core.workflow.question import AmbiguityError
from planweave.goals.alternatives import MOST_CHOICES, object_question
from planweave.goals.lexicon import english
from planweave.goals.sentence_tree import NounPhrase, Place, Quantity
from planweave.goals.word_descriptions import Descriptions

APART = 0.01  # metres by which one thing must be farther out than the next to be the leftmost or nearest
NEARLY = 0.03  # metres by which a thing may miss "next to" or "between" and be meant, where no other comes near
CLEARLY = 0.05  # metres by which it is nearer than any other
BIGGER = 1.15  # times the volume by which one thing must be larger than the next to be the biggest
_ROW = 1.5  # times the depth by which things must be wider spread than deep, or the other way round, to stand in a row
_SEEN = {"left": "left and right are the {}'s", "depth": "in front is nearer to the {}"}
_FEW = 60  # objects all of which are looked through for what an unknown word may mean

Why = Callable[[str], str]  # object -> why it cannot be meant here, "" where it can


class NotCoveredError(Exception):
    """The sentence is outside the controlled English; a model may understand it. words: those that no rule uses;
    ambiguity: what to ask a person where no model does.
    """

    ambiguity: AmbiguityError | None = None

    def __init__(self, message: str, words: Sequence[str] = ()):
        super().__init__(message)
        self.words = tuple(words)


def fits_all(_: str) -> str:
    """No reason why an object cannot be meant."""
    return ""


@dataclass
class NounPhrases(Descriptions):
    """Resolves noun phrases in order, with the objects mentioned before as context.

    holds_at: whether an object is at a place now; shortfall: metres by which it misses a place beside others;
    clarified: what a person said that phrases mean; moved: what earlier clauses move.
    """

    holds_at: Callable[[str, Place], bool] = lambda _name, _place: False
    shortfall: Callable[[str, Place], float] = lambda _name, _place: math.inf
    clarified: Mapping[tuple[int, str], tuple[str, ...]] = field(default_factory=dict)
    mentioned: dict[str, None] = field(default_factory=dict)
    head: str = ""  # noun of the last thing, for "the blue one"
    claimed: set[str] = field(default_factory=set)  # named elsewhere in the sentence: "a cube" means another one
    notes: list[str] = field(default_factory=list)  # what was chosen
    moved: set[str] = field(default_factory=set)
    carrying: bool = False  # whether things are to be brought somewhere: "everything" leaves out furniture then

    def resolve(
        self,
        phrase: NounPhrase,
        why: Why = fits_all,
        *,
        several: bool = True,
        head: str = "",
        without: Sequence[str] = (),
        taken: Why | None = None,
    ) -> list[str]:
        """Names of the objects referred to, in the world's order. Raises GoalError, NotCoveredError.

        why: why an object is excluded; several: whether more than one object is allowed; head: noun for a phrase
        without one ("the red and the green cube"); without: excluded objects; taken: "" for those that "a cube" avoids.
        """
        if phrase.state:
            raise NotCoveredError(f"{phrase.text!r}: whether it is so, or is to be so, is not said")
        seen_from = self.domain.seen_from(self.world)
        if seen_from not in ("", PERSON) and phrase.text.startswith(("my left", "my right")):
            raise GoalError(f"{phrase.text!r}: left and right are the {seen_from}'s here; say it without 'my'")
        answered = self.clarified.get((phrase.at, phrase.text)) or self._named(phrase)
        if answered and all(n in self.world.by_name and n not in without and not why(n) for n in answered):
            names = list(answered)
        else:
            phrase = self._chosen_by_side(phrase)
            found, noun = self._described(phrase, head, why)
            found = self._at_places(phrase, found, why)
            if phrase.other:
                found = self._others(phrase, found, why)
            if phrase.exceptions:
                found = self._left(phrase, found, noun, why)
            if phrase.superlative:
                found = self._most(phrase, found, why)
            names = self._counted(phrase, found, why, {*without}, several, taken)
            self._check_same(phrase, found, names, why)
            self.head = noun or self.head
        self.mentioned.update(dict.fromkeys(names))
        return names

    def _named(self, phrase: NounPhrase) -> tuple[str, ...]:
        """What a person calls by the words of a phrase that says nothing else (Clarification.at -1)."""
        one = phrase.is_one or (phrase.quantity is Quantity.A and not phrase.plural)
        simple = one and not (phrase.superlative or phrase.places or phrase.other or phrase.exceptions)
        return self.clarified.get((-1, " ".join(phrase.words)), ()) if simple else ()

    def aside(self, phrase: NounPhrase, head: str = "") -> list[str]:
        """Objects that a phrase refers to, without a change of the context; raises what `resolve` does."""
        kept = self.head, dict(self.mentioned), list(self.notes)
        try:
            return self.resolve(phrase, head=head)
        finally:
            self.head, self.mentioned, self.notes = kept

    def meant(self, phrase: NounPhrase) -> list[str] | None:
        """Objects that a phrase refers to, without a change of the context; None where that is none, or not clear."""
        try:
            return self.aside(phrase)
        except (GoalError, NotCoveredError):
            return None

    def every(self, phrase: NounPhrase) -> list[str]:
        """All objects that a phrase may refer to, whatever its number."""
        return self.meant(replace(phrase, quantity=Quantity.ALL, number=0, superlative="")) or []

    def unclear(
        self, message: str, phrase: NounPhrase, candidates: Iterable[Sequence[str]], text: str = ""
    ) -> GoalError:
        """The error of a phrase that may mean any of the candidates; a question for a person where one can be asked."""
        question = object_question(self.domain, self.world, phrase.text, phrase.at, list(candidates), text)
        return AmbiguityError(message, question) if question and phrase.at >= 0 else GoalError(message)

    def seen(self) -> str:
        """Names of the known objects, items before places."""
        names = sorted(self.world.by_name, key=lambda n: (self.world.by_name[n].type in ("location", "room"), n))
        return ", ".join(names[:20]) + (", …" if len(names) > 20 else "") if names else "nothing"

    def _described(self, phrase: NounPhrase, head: str, why: Why) -> tuple[list[str], str]:
        """Objects that match every word of the description, and the noun that names their kind."""
        words = [self.singular(w) for w in phrase.words]
        self._check_known(phrase, words, why)
        if "" in words or len({*words}) < len(words):
            raise NotCoveredError(f"{phrase.text!r} says the same twice")
        things = [o.name for o in self.world.objects]
        if phrase.generic and phrase.generic not in ("one", "ones"):
            apart = (self.domain.extra.get("goals") or {}).get("not_everything", ()) if self.carrying else ()
            fit = [n for n in things if self.features[n].issuperset(words)]
            return self.of_no_other_colour(
                phrase, [n for n in fit if self.world.by_name[n].attributes.get("category") not in apart], words
            ), ""
        if words and not phrase.generic and words[-1] in self.known_nouns:
            noun = words[-1]
            found = [n for n in things if noun in self.heads[n] and self.describes(n, words[:-1])]
            elided = [n for n in things if head and head in self.heads[n] and self.features[n].issuperset(words)]
            if found and elided and head != noun and elided != found:
                raise GoalError(f"{phrase.text!r} could mean {' or '.join([*found, *elided])}; say which")
            if found:
                found = self.parts_alone(phrase, found, why)
                self._check_kind(phrase, found, words, noun, why)
                return self.of_no_other_colour(phrase, found, words), noun
            if not elided:
                raise self._unknown(phrase, words, why)
        kind = head or self.head
        if not kind and not (phrase.generic and (words or phrase.superlative or phrase.places)):
            raise NotCoveredError(f"{phrase.text!r} names no thing")
        found = [n for n in things if kind in {"", *self.heads[n]} and self.features[n].issuperset(words)]
        if not found:
            raise self._unknown(phrase, words, why)
        return self.of_no_other_colour(phrase, found, words), kind

    def _chosen_by_side(self, phrase: NounPhrase) -> NounPhrase:
        """ "the middle bowl" is the one in the middle where no bowl is called so, though a drawer is."""
        words = [self.singular(w) for w in phrase.words]
        side = len(words) > 1 and words[0] in english()["sides"].values() and not phrase.superlative
        if side and not any({*words} <= features for features in self.features.values()):
            return replace(phrase, words=phrase.words[1:], superlative=words[0])
        return phrase

    def _check_kind(self, phrase: NounPhrase, found: Sequence[str], words: Sequence[str], noun: str, why: Why) -> None:
        """Raise GoalError for "the blocks", where some things are called so and others are such as well; and for "the
        edge" where only the far edge is known.
        """
        called = [n for n in found if self.world.by_name[n].class_name.lower().rsplit("_", 1)[-1] == noun]
        several = phrase.plural or phrase.quantity is Quantity.ALL
        if several and called and len(called) < len(found) and self.world.by_name[found[0]].type != "room":
            could = f"{phrase.text!r} could mean {', '.join(map(spoken, called))} only, or all that are such"
            raise self.unclear(f"{could}; name them", phrase, [called, found])
        place = self.world.by_name[found[0]].type == "location" and noun != found[0] and len(found) == 1
        sides = [of for of in english()["which_side"].values() if self.features[found[0]].intersection(of)]
        if place and not all({*of} & {*words} for of in sides):
            could = f"{phrase.text!r}: known of that kind is only the {spoken(found[0])}; say so if it is meant"
            raise self.unclear(could, phrase, [[n] for n in found if not why(n)])

    def _check_known(self, phrase: NounPhrase, words: Sequence[str], why: Why) -> None:
        known = self.all_features | self.known_nouns | {*english()["colours"]}
        for strange in [w for w in words if w not in known][:1]:
            unknown = self._unknown(phrase, words, why)
            if len(words) == 1 and not phrase.plural:
                raise unknown
            left = NotCoveredError(f"the word {strange!r} is not known", [strange])
            left.ambiguity = unknown if isinstance(unknown, AmbiguityError) else None
            raise left

    def _unknown(self, phrase: NounPhrase, words: Sequence[str], why: Why) -> GoalError:
        """The error of a phrase that nothing here is called; it offers what is near to it, or else what is there."""
        kind = words[-1] if words else phrase.text
        alike = [n for n in self.world.by_name if kind in self.heads[n]]
        hint = f"of that kind there are {', '.join(alike)}" if alike and len(words) > 1 else f"seen: {self.seen()}"
        message = f"unknown object {' '.join(words) or phrase.text!r}: nothing here is called so; {hint}"
        close = set(close_names(kind, self.known_nouns))
        near = alike or [n for n in self.world.by_name if close & self.heads[n]]
        offered = near or (list(self.world.by_name) if len(self.world.by_name) <= _FEW else [])
        offered = [n for n in offered if n not in self.claimed and not why(n)]  # not what is named otherwise
        fitting = [[n] for n in offered] if phrase.is_one and not self.is_mass(phrase) else []
        error = self.unclear(message, phrase, fitting, f'nothing here is called "{phrase.text}"; what is meant?')
        if isinstance(error, AmbiguityError):
            error.question = replace(error.question, naming=True)
        return error

    def _at_places(self, phrase: NounPhrase, found: list[str], why: Why) -> list[str]:
        described = found
        for place in phrase.places:
            there = [n for n in found if self.holds_at(n, place)] or self._nearly(phrase, found, place)
            found = [n for n in found if (n in there) != place.negated]
        if phrase.places and not found:
            none = f"{phrase.text!r}: no such thing is known to be there now"
            near = [[n] for n in described if not why(n)] if phrase.is_one else []
            raise self.unclear(none, phrase, near, f"{none}; which is meant?")
        return found

    def _nearly(self, phrase: NounPhrase, found: Sequence[str], place: Place) -> list[str]:
        """The object that clearly comes nearest where none is strictly beside or between others; or the only one that
        is between them at all, however far to the side, or that leans on one.
        """
        if len(found) < 2 or not phrase.is_one or self.is_mass(phrase):
            return []
        lack = {n: self.shortfall(n, place) for n in found}
        first, second, *_ = sorted(found, key=lambda n: lack[n])
        alone = lack[first] < math.inf == lack[second] and all(self.world.by_name[n].position for n in found)
        if not alone and (lack[first] > NEARLY or lack[second] < lack[first] + CLEARLY):
            return []
        self.notes.append(f"nearest to being {place.word} it is {spoken(first)}")
        return [first]

    def _others(self, phrase: NounPhrase, found: Sequence[str], why: Why) -> list[str]:
        """The objects that were not mentioned before."""
        if not any(n in self.mentioned and not why(n) for n in found):
            raise GoalError(f"{phrase.text!r} refers to nothing named before; say which things are meant")
        return [n for n in found if n not in self.mentioned]

    def _left(self, phrase: NounPhrase, found: list[str], noun: str, why: Why) -> list[str]:
        """What an exception leaves; raises GoalError where it names what is not among them."""
        if not (phrase.quantity is Quantity.ALL or phrase.plural or self.is_mass(phrase)):
            raise NotCoveredError(f"{phrase.text!r} leaves something out of one thing")
        left: list[str] = []
        for each in phrase.exceptions:
            simple = each.quantity in (Quantity.THE, Quantity.BARE, Quantity.ALL) and not each.superlative
            if not simple or each.places or each.pronoun or each.exceptions:
                raise NotCoveredError(f"{each.text!r}: say by its name what is left out")
            names = self.aside(each, head=noun)
            colour = each.quantity is Quantity.ALL and self.colours.intersection(each.words)
            if colour and any(not self.features[n] & self.colours for n in found if not why(n)):
                raise GoalError(f"{phrase.text!r}: of some of them the colour is not known; name what is meant")
            left += names
        if not {*left} <= {*found}:
            stranger = min({*left} - {*found})
            raise GoalError(f"{spoken(stranger)} cannot be left out of {phrase.text!r}: it is not among them")
        return [n for n in found if n not in left]

    def _most(self, phrase: NounPhrase, found: list[str], why: Why) -> list[str]:
        """The one that is farthest out along an axis, or the middle one."""
        axis, end, *of_two = english()["superlatives"][phrase.superlative]
        each = [[n] for n in found] if phrase.is_one else []
        of_two = of_two or (axis == "left" and phrase.superlative in self.all_features)  # or the right tray is meant
        if of_two and len(found) != 2:
            two = f"{phrase.text!r} compares two things, but there are {len(found)}: {', '.join(found)}"
            raise self.unclear(two, phrase, each)
        fitting = found if of_two else [n for n in found if not why(n)] or found
        if not phrase.is_one:
            raise GoalError(f"{phrase.text!r}: only one thing can be the {phrase.superlative}")
        if len(fitting) < 2:
            raise self.unclear(f"{phrase.text!r}: there is only {', '.join(fitting)}", phrase, each)
        seen_from = self.domain.seen_from(self.world)
        if axis != "size" and (not seen_from or (axis == "reach" and seen_from != "robot")):
            raise self.unclear(f"{phrase.text!r}: seen from where is not known here; name the thing", phrase, each)
        if any(self._measure(n, axis) is None for n in fitting):
            raise self.unclear(f"{phrase.text!r}: of some of them that is not known; name the thing", phrase, each)
        if axis == "middle":
            return self._middle(phrase, fitting)
        values = {n: self._measure(n, axis) or 0.0 for n in fitting}
        order = sorted(fitting, key=values.__getitem__, reverse=end == "most")
        first, second = values[order[0]], values[order[1]]
        alike = abs(first - second) < APART if axis != "size" else max(first, second) < BIGGER * min(first, second)
        if alike:
            could = f"{phrase.text!r} could mean {order[0]} or {order[1]}: they hardly differ; say which"
            raise self.unclear(could, phrase, [[order[0]], [order[1]]])
        if axis != "size" and self.moved.intersection(fitting):
            raise GoalError(f"{phrase.text!r} may be another one by then; name the thing")
        if axis in ("left", "depth"):
            self.notes.append(_SEEN[axis].format(seen_from))
        return order[:1]

    def _middle(self, phrase: NounPhrase, found: Sequence[str]) -> list[str]:
        """The middle one of a row; raises GoalError where they stand in no row, or are even in number."""
        rows = {axis: sorted((self._measure(n, axis) or 0.0, n) for n in found) for axis in ("left", "depth")}
        length = {axis: row[-1][0] - row[0][0] for axis, row in rows.items()}
        row = rows[max(length, key=length.__getitem__)]
        half = len(row) // 2
        near = min(row[half][0] - row[half - 1][0], row[(half + 1) % len(row)][0] - row[half][0])
        if len(row) % 2 == 0 or near < APART or max(length.values()) < _ROW * min(length.values()):
            raise self.unclear(
                f"{phrase.text!r}: they stand in no row with a middle; name it", phrase, [[n] for n in found]
            )
        return [row[half][1]]

    def _measure(self, name: str, axis: str) -> float | None:
        """Volume in m³, or position along an axis in m; None where it is not known."""
        thing = self.world.by_name[name]
        if axis == "size":
            return math.prod(thing.size) if thing.size else None
        if thing.position is None:
            return None
        x, y, _ = thing.position
        return {"left": y, "depth": x}.get(axis, math.hypot(x, y))

    def _check_same(self, phrase: NounPhrase, found: Sequence[str], names: Sequence[str], why: Why) -> None:
        """Raise GoalError where "the box" would be another one than the box named before, or than what is called just
        so: that one cannot be meant here, and another thing that is a box as well was taken in its place.
        """
        if not phrase.is_one or phrase.superlative or len(names) != 1 or phrase.generic or self.is_mass(phrase):
            return
        noun = "_".join(map(self.singular, phrase.words))
        part_of = str((self.domain.extra.get("goals") or {}).get("parts", ""))

        def called(name: str) -> bool:
            return self.world.by_name[name].class_name.lower() == noun

        for other in [n for n in found if n not in names]:
            before = other in self.mentioned and names[0] not in self.mentioned
            exactly = called(other) and not called(names[0])
            if before or (exactly and Literal(part_of, (other, names[0])) not in self.world.facts):
                reason = f", for {why(other)}" if why(other) else ""
                which = f"{phrase.text!r} could be the {spoken(names[0])} only, not the {spoken(other)}{reason}"
                raise self.unclear(f"{which}; say so if it is meant", phrase, [names], f"{which}; is it meant?")

    def _counted(
        self,
        phrase: NounPhrase,
        found: list[str],
        why: Why,
        without: set[str],
        several: bool,
        taken: Why | None,
    ) -> list[str]:
        """The requested number of objects out of the candidates."""
        pool = [n for n in found if n not in without]
        fitting = [n for n in pool if not why(n)]
        broad = phrase.generic not in ("", "one", "ones")
        if not found:
            raise GoalError(f"{phrase.text!r}: nothing of that is left; seen: {self.seen()}")
        if not fitting and phrase.exceptions:
            raise GoalError(f"{phrase.text!r}: nothing that can be meant is left besides what is left out")
        if not fitting:
            reasons = [why(n) or f"{spoken(n)} cannot be put beside, on or in itself" for n in found]
            raise GoalError(f"{phrase.text!r}: {reasons[0]}")
        if phrase.quantity is Quantity.EXACTLY and len(fitting if broad else pool) != phrase.number:
            pool = fitting if broad else pool
            could = f"{phrase.text!r} could mean {', '.join(pool)}: {len(pool)}, not {phrase.number}"
            raise self.unclear(could, phrase, _sets(fitting, phrase.number) if several else [])
        if phrase.quantity in (Quantity.ALL, Quantity.EXACTLY) or (
            phrase.quantity is not Quantity.A and (phrase.plural or self.is_mass(phrase))
        ):
            bad = [] if broad else [why(n) for n in pool if why(n)]
            if bad:
                raise GoalError(f"{phrase.text!r}: {bad[0]}")
            if not several and len(fitting) > 1:
                many = f"{phrase.text!r} means several ({', '.join(fitting)}); name one of them"
                raise self.unclear(many, phrase, [[n] for n in fitting])
            return fitting
        if phrase.quantity is Quantity.A:
            return self._picked(phrase, fitting, several, taken)
        if len(fitting) > 1:
            could = f"{phrase.text!r} could mean {' or '.join(fitting)}; say which"
            raise self.unclear(could, phrase, [[n] for n in fitting])
        return fitting

    def _picked(self, phrase: NounPhrase, fitting: list[str], several: bool, taken: Why | None) -> list[str]:
        """An arbitrary choice among things not mentioned otherwise: those not yet so, in reach and free come first."""
        if phrase.number > 1 and not several:
            raise GoalError(f"{phrase.text!r} means several; name one")
        free = [n for n in fitting if n not in self.claimed and n not in self.mentioned]
        if len(free) < phrase.number or not phrase.number:
            raise GoalError(f"{phrase.text!r}: only {len(free)} such can be meant here ({', '.join(free) or 'none'})")
        facts, known = self.world.facts, [p for p in ("reachable", "clear") if p in self.domain.predicates]

        def unwelcome(name: str) -> tuple[bool, ...]:
            return (bool(taken and not taken(name)), *(Literal(p, (name,)) not in facts for p in known))

        chosen = sorted(sorted(free, key=unwelcome)[: phrase.number], key=fitting.index)
        rest = [n for n in free if n not in chosen]
        if rest:
            self.notes.append(
                f"{phrase.text!r} is taken to be {' and '.join(map(spoken, chosen))}; it could be "
                f"{' or '.join(map(spoken, rest[:4]))}{' or others' if len(rest) > 4 else ''} as well"
            )
        return chosen


def _sets(pool: Sequence[str], number: int) -> list[tuple[str, ...]]:
    """Sets of that many of the objects; none where they are too many to ask for one."""
    if not 0 < number < len(pool) or math.comb(len(pool), number) > MOST_CHOICES:
        return []
    return list(combinations(pool, number))
