"""Names that open-vocabulary detectors search for: short noun phrases, validated; data, never instructions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planweave.core.base.errors import ConfigError
from planweave.perception.colours import COLOURS

MOST_NAMES, LONGEST, MOST_WORDS = 100, 60, 5
_PHRASE = re.compile(r"[a-z]+(?:[ '-][a-z]+)*")
_ARTICLE = re.compile(r"^(?:a|an|the|some|my|your|this|that|these|those)\s+")
# Where a thing is and how many there are is not seen in its looks; what is of every kind would hide what a thing is.
_NO_LOOKS = frozenset((
    "left", "right", "front", "back", "top", "bottom", "upper", "lower", "middle", "first", "second", "third",
    "last", "next", "other", "same", "near", "nearest", "far", "farthest", "all", "every", "each", "both", "two",
    "three", "four", "five",
))  # fmt: skip
_ANY_KIND = frozenset((
    "thing", "object", "item", "stuff", "everything", "anything", "fruit", "vegetable", "food", "toy", "tool",
    "table", "side", "one",
))  # fmt: skip
_SINGULAR = {"scissors": "scissors", "pliers": "pliers", "tongs": "tongs", "glasses": "glass", "knives": "knife"}
_SAME_COLOUR = {"grey": "gray", "cyan": "aqua"}


class Vocabulary:
    """The configured names, and those requested last."""

    def __init__(self, defaults: Sequence[str] = ()):
        """Raises ConfigError where a name is not a short noun phrase."""
        self._defaults = clean(defaults)
        self._names = self._defaults

    @property
    def names(self) -> tuple[str, ...]:
        """The current names; replaced as a whole, so that it can be read from another thread."""
        return self._names

    def look_for(self, names: Sequence[str]) -> str:
        """Set the requested names, in addition to the configured ones; returns all current names.

        Generic words (fruit, thing) are excluded, since they would hide an object's class. Raises ConfigError, and
        changes nothing, where a name is not a short noun phrase or there are too many.
        """
        self._names = tuple(dict.fromkeys((*self._defaults, *clean(names))))
        return f"looked for: {', '.join(self._names)}" if self._names else "no names are looked for"


def clean(names: Sequence[str]) -> tuple[str, ...]:
    """The phrases in lower case and singular, in order, without articles, places, numbers, duplicates and generic
    words. Raises ConfigError.
    """
    if len(names) > MOST_NAMES:
        raise ConfigError(f"{len(names)} names to look for are too many; at most {MOST_NAMES} are taken at a time")
    cleaned = []
    for name in names:
        phrase = " ".join(name.replace("_", " ").lower().split()) if len(name) <= LONGEST else ""
        phrase = _ARTICLE.sub("", phrase)
        if not _PHRASE.fullmatch(phrase) or len(phrase.split()) > MOST_WORDS:
            shown = name if len(name) <= LONGEST else name[:LONGEST] + "…"
            raise ConfigError(
                f"{shown!r} is not a valid name: give a noun with at most {MOST_WORDS - 1} words before it, English "
                f"letters only, at most {LONGEST} characters, such as 'red mug'"
            )
        *before, noun = phrase.split()
        noun = singular(noun)
        if noun not in _ANY_KIND and noun not in _NO_LOOKS:
            cleaned.append(" ".join((*(word for word in before if word not in _NO_LOOKS), noun)))
    return tuple(dict.fromkeys(cleaned))


def singular(noun: str) -> str:
    """An English noun in the singular, by its ending."""
    if noun in _SINGULAR:
        return _SINGULAR[noun]
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    if noun.endswith(("ches", "shes", "xes", "sses", "oes")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) and len(noun) > 3 else noun


def split_phrase(phrase: str) -> tuple[str, str]:
    """The class (lower_snake_case) and the colour in a clean phrase; "" where it has no colour word.

    "dark red coffee mug" is a dark_coffee_mug of colour red; a colour alone ("orange") is a class.
    """
    words = re.split(r"[ '-]", phrase)
    *before, noun = words
    colour = next((c for word in before if (c := _SAME_COLOUR.get(word, word)) in COLOURS), "")
    kept = [word for word in before if _SAME_COLOUR.get(word, word) != colour or not colour]
    return "_".join((*kept, noun)), colour
