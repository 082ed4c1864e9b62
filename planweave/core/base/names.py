"""Object names: which ones are symbols, and conversion of a text to a symbol; and texts of people, on one line.

Checked where objects enter the system.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from planweave.core.base.errors import GoalError

MAX_SYMBOL = 200
"""Characters of a symbol."""
SYMBOL_FORM = f"letters, digits, _ and -, no - first; {MAX_SYMBOL} at most"
"""The rule for symbols, for messages."""
MAX_SENTENCE = 2000  # characters
_MAX_LABEL = 100  # characters of a name that is made from a text
_SYMBOL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*\Z")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_SPECIAL = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "ł": "l", "'": "", "\u2019": ""})


@lru_cache(maxsize=8192)
def is_symbol(name: str) -> bool:
    """Return whether a name is valid in facts, plans, prompts and PDDL: ASCII letters, digits, _ and -."""
    return len(name) <= MAX_SYMBOL and _SYMBOL.match(name) is not None


def symbols(names: Iterable[str]) -> dict[str, str]:
    """A symbol for each name, unique regardless of case (PDDL ignores it).

    Symbols of letters, digits and _ are kept; ``Müsli`` becomes ``musli``, ``m&m's`` ``m_ms``; of two equal ones the
    second gets a number.
    Empty names are omitted.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(set(names), key=lambda n: (not _is_plain(n), n)):
        symbol = name if _is_plain(name) else _made(name)
        if not symbol:
            continue
        unique = symbol
        for number in itertools.count(2):
            if unique.lower() not in taken:
                break
            unique = f"{symbol}_{number}"
        found[name] = unique
        taken.add(unique.lower())
    return found


def _is_plain(name: str) -> bool:
    return len(name) <= _MAX_LABEL and _PLAIN.match(name) is not None


def _made(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.lower().translate(_SPECIAL)).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "_", plain[: _MAX_LABEL - 20]).strip("_")
    if not words:
        return "object" if name.strip() else ""
    return words if words[0].isalpha() else f"object_{words}"


def one_line(text: str, longest: int = _MAX_LABEL) -> str:
    """External text for display and prompts: printable characters, one line, bounded length."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * longest]).split())[:longest]


def plain_text(text: str, what: str, longest: int = MAX_SENTENCE) -> str:
    """A person's text, stripped; raises GoalError where it is too long or not plain text."""
    text = text.strip()
    if len(text) > longest:
        raise GoalError(f"the {what} has {len(text)} characters; at most {longest} are read")
    if any(ord(c) < 32 and c not in "\t\n" for c in text):
        raise GoalError(f"the {what} has control characters; send plain text")
    return text


def log_line(text: object) -> str:
    """One line of bounded length for the log."""
    shown = " ".join(map(str, text)) if isinstance(text, tuple) else one_line(str(text))
    return shown if len(shown) <= 500 else f"{shown[:500]} …"
