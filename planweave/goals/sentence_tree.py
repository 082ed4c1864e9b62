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
    SOME = "some"
    NONE = "none"


@dataclass(frozen=True)
class Place:
    """A relation and its place: "in the bowl", "between the trays". word: the preposition as said, of `negated`
    "not in the bowl". bare: negated without "that is", which may as well belong to the verb.
    """

    word: str
    things: tuple[NounPhrase, ...]
    negated: bool = False
    bare: bool = False


@dataclass(frozen=True)
class NounPhrase:
    """The words of a description, its head last, with quantity, selection, location and exceptions.

    pronoun: "it", "them"; then only `all` may be set beside it. generic: the head is "one", "thing" or "everything";
    nearest_to: the reference of a superlative; at: number of its first word in the sentence, -1 where it is not in it.
    """

    text: str
    quantity: Quantity = Quantity.BARE
    number: int = 0
    words: Words = ()
    generic: str = ""
    plural: bool = False
    other: bool = False
    rest: bool = False
    each: bool = False  # "each tray": one after the other
    superlative: str = ""
    rank: int = 1  # the second leftmost one: 2
    nearest_to: NounPhrase | None = None
    pronoun: str = ""
    places: tuple[Place, ...] = ()
    exceptions: tuple[NounPhrase, ...] = ()
    at: int = field(default=-1, compare=False)


class Kind(Enum):
    """Kind of a clause."""

    MOVE = "move"
    PUSH = "push"
    VERB = "verb"  # what a template of literals says
    REMOVE = "remove"  # from a place
    TAKE_OUT = "take out"  # of where it is
    EMPTY = "empty"
    ASIDE = "aside"
    BACK = "back"
    SWAP = "swap"
    STACK = "stack"
    ROW = "row"
    SORT = "sort"  # things of a kind together
    WISH = "wish"  # how things shall be
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Clause:
    """One request. verb: as said; template: literals of a VERB or state; second: the object of its {y}."""

    kind: Kind
    verb: str
    things: tuple[NounPhrase, ...] = ()
    places: tuple[Place, ...] = ()
    source: NounPhrase | None = None
    exceptions: tuple[NounPhrase, ...] = ()
    template: str = ""
    second: tuple[NounPhrase, ...] = ()
    negated: bool = False
    forbidden: bool = False  # "never", "do not": not only unwished
    elliptic: bool = False
    joined: str = ""  # what stands before it: "and", ",", "then", "but"; "." where a sentence begins


Tree = tuple[Clause, ...]
