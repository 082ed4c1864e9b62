"""Tokenization of a sentence: lower case, without filler words, typing errors corrected.

Unknown words are never dropped. Removed are only the words listed in english.yaml under nothing_said and at_first,
punctuation and emoji.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rapidfuzz.distance import OSA

from planweave.goals.lexicon import english

_REAL_WORDS = Path(__file__).resolve().parent / "english_words.txt"
_PICTURES = {"So", "Sk", "Cf", "Cn", "Co", "Mn", "Me"}  # categories of emoji, their parts, and what cannot be printed
SHORTEST = 4  # letters of a word that is taken for a slip of the pen; two letters exchanged may be shorter by one
Words = tuple[str, ...]


@dataclass(frozen=True)
class Mended:
    """A corrected typing error: the word as written and as read."""

    written: str
    read: str


def quotations(text: str) -> list[str]:
    """Texts between quotation marks."""
    return [one or other for one, other in re.findall(r"\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)", _plain(text))]


def _plain(text: str) -> str:
    marks = {0x2019: "'", 0x2018: "'"} | dict.fromkeys(map(ord, "“”„«»「」『』"), '"')
    return unicodedata.normalize("NFKC", text).lower().translate(marks)


def words_of(text: str) -> tuple[Words, bool]:
    """The words of a text, commas and "." between sentences as tokens; and whether it ends as a question."""
    text = _plain(text)
    text = "".join(" " if unicodedata.category(c) in _PICTURES else c for c in text)
    text = re.sub(r"[:;8=]-?[)(dp]+(?=\s|$)", " ", text)  # :-)
    asked = bool(re.search(r"\?[\s!?.\"')]*$", text))
    for said, meant in english()["contractions"].items():
        text = re.sub(rf"(?<![\w']){re.escape(said)}(?![\w'])", meant, text)
    text = re.sub(r"(?<=[a-z0-9])'s(?![\w'])", " 's", text)
    text = text.replace("&", " and ")
    text = re.sub(r"(?<=[a-z0-9])[-–—](?=[a-z0-9])", " ", text)
    text = re.sub(r"\s[-–—]+\s|[–—:]", " , ", text)
    text = re.sub(r"(?<=\d)\.(?=\d)", "·", text)  # 0.5 is one word, which nothing knows
    text = re.sub(r"\s*[.;!?…\n]+\s*", " . ", text)
    text = re.sub(r"[\"“”`()\[\]{}*]", " ", text)
    found = re.findall(r"[.,]|[^\s.,]+", text.replace(",", " , "))
    words: list[str] = []
    for word in found:
        word = word if word == "'s" else word.strip("'") or word
        if word in (".", ",") and (not words or words[-1] in (".", ",")):
            if words and word == ".":
                words[-1] = "."
            continue
        words.append(word)
    while words and words[-1] in (".", ","):
        words.pop()
    return tuple(words), asked


def not_english(words: Words, nouns: Collection[str]) -> str:
    """Why words are of another language, in the script of that language as well; "" where they may be English.

    nouns: words of things here, which may be of any language.
    """
    scripts = [unicodedata.name(c, "").split(" ")[0] for w in words if w not in nouns for c in w if c.isalpha()]
    others = sorted((s for s in scripts if s != "LATIN"), key=lambda s: s not in ("HIRAGANA", "KATAKANA"))
    other = others[0] if others else ""  # kana anywhere is Japanese, whose sentences may begin with a Chinese character
    foreign = [w for w in words if w in english()["foreign"] or not w.isascii()]
    no = [w for w in foreign if w in english()["foreign_negations"] and w not in nouns]
    if not (other or no or (len(foreign) > 1 and not {*foreign} & {*nouns})):
        return ""
    told = english()["only_english"].get(other, "")
    return "only English is read here" + (f" ({told})" if told else "")


def without_politeness(words: Words) -> Words:
    """The words without fillers, and without phrases that introduce a request."""
    kept: list[str] = []
    index = 0
    while index < len(words):
        length = longest(words, index, english_phrases()["nothing_said"])
        ending = longest(words, index, english_phrases()["at_ends"])
        if ending and not _begins(kept) and not _ends(words, index + ending):
            ending = 0
        if ending and words[index] in ("would", "will", "could", "can") and not _ends(words, index + ending):
            ending = 0  # "could you" ends a request here; as its beginning it stands under at_first
        if length or ending:
            index += max(length, ending)
            continue
        at_start = not kept or kept[-1] in (".",)
        doing = longest(words, index, english_phrases()["at_first_doing"]) if at_start else 0
        if doing and (verb := _verb_of(words[index + doing : index + doing + 1])):
            kept.append(verb)
            index += doing + 1
            continue
        wanted = longest(words, index, english_phrases()["wanted"]) if at_start else 0
        if wanted:
            kept += english()["wanted"][" ".join(words[index : index + wanted])].split()
            index += wanted
            continue
        length = longest(words, index, english_phrases()["at_first"]) if at_start else 0
        if length and not (_asks_ability(words, index, length)):
            index += length
            continue
        goes = at_start and words[index] == "go" and words[index + 1 : index + 2] in _orders()
        if goes or (at_start and words[index] == ","):  # "go pick up the cube"
            index += 1
            continue
        kept.append(words[index])
        index += 1
    while kept and kept[-1] in (",", "."):
        kept.pop()
    return tuple(w for i, w in enumerate(kept) if not (w == "," and i + 1 < len(kept) and kept[i + 1] in (",", ".")))


@lru_cache(maxsize=1)
def _orders() -> frozenset[Words]:
    """First words of verbs that no domain has to know."""
    said = [*english()["move"], *english()["push"], *english()["take_out"], *english()["stack"], *english()["go_and"]]
    return frozenset((phrase.split()[0],) for phrase in said)


def _verb_of(word: Words) -> str:
    """The verb of "putting", "placing", "passing"; "" where there is none."""
    if not word or not word[0].endswith("ing"):
        return ""
    stem = word[0].removesuffix("ing")
    doubled = len(stem) > 3 and stem[-1] == stem[-2]
    forms = [stem[:-1], stem] if doubled and stem[-1] not in "sl" else [stem] if doubled else [stem + "e", stem]
    return next((form for form in forms if form in real_words()), "")


def _begins(before: Sequence[str]) -> bool:
    return not before or before[-1] in (".", ",", "and", "then", "but")


def _ends(words: Words, index: int) -> bool:
    """Whether a clause ends before a word, or only fillers follow."""
    while index < len(words):
        length = longest(words, index, english_phrases()["nothing_said"] | english_phrases()["at_ends"])
        if not length:
            return words[index] in (".", ",", "and", "then", "but")
        index += length
    return True


def _asks_ability(words: Words, index: int, length: int) -> bool:
    """ "can you reach the cube", "could you see it": a question, not a request."""
    rest = words[index + length : index + length + 1]
    return words[index] in ("can", "could", "will", "would", "do") and (
        not rest
        or rest[0]
        in ("reach", "see", "do", "hear", "understand", "speak", "find", "tell", "help", "recognise", "recognize")
    )


@lru_cache(maxsize=1)
def english_phrases() -> Mapping[str, frozenset[Words]]:
    """The phrases of english.yaml, of tables what they explain."""
    return {key: phrases(of) for key, of in english().items()}


def phrases(of: Iterable[str]) -> frozenset[Words]:
    return frozenset(tuple(p.split()) for p in of)


def longest(words: Sequence[str], index: int, of: Collection[Words]) -> int:
    """Number of words of the longest of the phrases at an index; 0 for none."""
    return next((n for n in range(min(8, len(words) - index), 0, -1) if tuple(words[index : index + n]) in of), 0)


@lru_cache(maxsize=1)
def real_words() -> frozenset[str]:
    """English words that are never corrected."""
    return frozenset(_REAL_WORDS.read_text(encoding="utf-8").split())


def is_real(word: str) -> bool:
    """Whether a word, or its singular, is English."""
    singular = word.removesuffix("ies") + "y" if word.endswith("ies") else word.removesuffix("es")
    return any(w in real_words() for w in (word, word.removesuffix("s"), singular))


def mended(
    words: Words, known: Collection[str], nouns: Mapping[str, bool]
) -> tuple[Words, tuple[Mended, ...], dict[str, tuple[str, ...]]]:
    """The words with typing errors replaced by the only close known word.

    A typing error is one letter more, less or different, or two exchanged, in a word that is not English. Also
    returned: the corrections, and the remaining unknown words with the known words they may stand for. nouns: words of
    objects, and whether they are plurals.
    """
    slips: dict[str, Mended] = {}
    left: dict[str, tuple[str, ...]] = {}
    for word in dict.fromkeys(words):
        if word in known or word in (",", ".") or word.isdigit():
            continue
        close = _likeliest(word, _close(word, known), nouns) if not is_real(word) else ()
        if len(close) == 1:
            slips[word] = Mended(word, close[0])
        else:
            left[word] = close
    return tuple(slips[w].read if w in slips else w for w in words), tuple(slips.values()), left


def _close(word: str, known: Collection[str]) -> tuple[str, ...]:
    if len(word) < 3 or len(word) > 30 or not word.isalpha():
        return ()
    found = []
    for other in known:
        if abs(len(other) - len(word)) > 1 or len(other) < 3 or OSA.distance(word, other, score_cutoff=1) != 1:
            continue
        exchanged = len(other) == len(word) and sorted(other) == sorted(word)
        if (
            exchanged
            or (min(len(word), len(other)) >= SHORTEST and word[0] == other[0])
            or (len(other) > SHORTEST and len(word) > SHORTEST)
        ):
            found.append(other)
    return tuple(sorted(found))


def _likeliest(word: str, close: Sequence[str], nouns: Mapping[str, bool]) -> tuple[str, ...]:
    """Sort candidates: equal beginnings first, then words of objects; of "cube" and "cubes" the one with the same
    ending.
    """
    for better in (lambda w: w[0] == word[0], lambda w: w in nouns):
        close = [w for w in close if better(w)] or list(close)
    if len(close) == 2 and close[1] == close[0] + "s":
        close = [close[1] if word.endswith("s") else close[0]]
    return tuple(close)
