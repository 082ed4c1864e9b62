"""Object names in a sentence, as queries for open-vocabulary detectors: the words between function words."""

from __future__ import annotations

import re

#: Words that are no part of a thing's name: they end one phrase and may begin the next.
_FUNCTION_WORDS = """
a an the this that these those my your its their some any all every each both other another one two three four five
in into inside on onto top of at to from off out over under near next beside between behind by with without for up down
and or then but not except if is are be was left right side middle front back
put place move set bring take grab grasp pick get give hand lift carry drop lay stack pile sort clear clean push pull
remove throw stick store keep leave make sure go come please can could would you i me we it them they he she him her
there here away aside where which who what everything anything something nothing now first second last finally after
"""
_BREAKS = frozenset(_FUNCTION_WORDS.split())
_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*|[^\sa-z]")
MOST_NAMES, MOST_WORDS = 20, 5


def names_in(sentence: str) -> list[str]:
    """Approximate noun phrases: "put the red mug next to the laptop" gives red mug and laptop."""
    phrases: list[str] = []
    current: list[str] = []
    for word in [*_WORD.findall(sentence.lower()), "."]:
        if word.isascii() and word[0].isalpha() and word not in _BREAKS:
            current.append(word)
            continue
        if current:
            phrases.append(" ".join(current[-MOST_WORDS:]))
        current = []
    return list(dict.fromkeys(phrases))[:MOST_NAMES]
