"""Parse tree of a sentence, independent of the world: noun phrases, places, clauses."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from planweave.goals.sentence_words import Words


class Quantity(Enum):
    """Quantifier of a noun phrase."""

    THE = "the"  # the only one, or with a plural all of them
    ALL = "all"
    A = "a"  # any number of them that is named; one as a rule
    EXACTLY = "exactly"  # as many as there are: "the two cubes", "both"
    BARE = "bare"  # no word for it


@dataclass(frozen=True)
class Place:
    """A relation and its place: "in the bowl", "between the trays". word: the preposition as said, "of" for parts;
    negated: "not in the bowl", of what is meant by where it is not.
    """

    word: str
    things: tuple[NounPhrase, ...]
    negated: bool = False


@dataclass(frozen=True)
class NounPhrase:
    """The words of a description, its noun last, with quantity, selection, location and exceptions.

    pronoun: "it", "them"; then nothing else is set. generic: the noun is "one", "thing" or "everything"; other: "the
    other tray"; relative: "that is" stands before the place; state: predicate of "a washed plate"; at: number of its
    first word in the sentence.
    """

    text: str
    quantity: Quantity = Quantity.BARE
    number: int = 0
    words: Words = ()
    generic: str = ""
    plural: bool = False
    other: bool = False
    superlative: str = ""
    pronoun: str = ""
    places: tuple[Place, ...] = ()
    relative: bool = False
    state: str = ""
    exceptions: tuple[NounPhrase, ...] = ()
    at: int = field(default=-1, compare=False)

    @property
    def is_one(self) -> bool:
        """Whether it speaks of one certain thing."""
        return self.quantity in (Quantity.THE, Quantity.BARE) and not (self.plural or self.pronoun)


class ClauseKind(Enum):
    MOVE = "move"
    PUSH = "push"
    VERB = "verb"  # what a template of literals says
    REMOVE = "remove"  # from a place
    EMPTY = "empty"
    STACK = "stack"
    WISH = "wish"  # how things shall be


@dataclass(frozen=True)
class Clause:
    """One request. verb: as said; template: literals of a VERB or state; second: the object of its {y};
    joined: what stands before it: "and", ",", "then"; "." where a sentence begins.
    """

    kind: ClauseKind
    verb: str
    things: tuple[NounPhrase, ...] = ()
    places: tuple[Place, ...] = ()
    source: NounPhrase | None = None
    template: str = ""
    second: tuple[NounPhrase, ...] = ()
    negated: bool = False
    joined: str = ""


Tree = tuple[Clause, ...]
