"""Vocabulary of a world: the words with a meaning in it."""

from __future__ import annotations

from collections.abc import Iterable

from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import World
from planweave.core.workflow.question import Clarification
from planweave.goals.goal_parser import Parser
from planweave.goals.lexicon import english, lexicon
from planweave.goals.noun_phrases import NounPhrases
from planweave.goals.sentence_tree import NounPhrase
from planweave.goals.sentence_words import Mended, Words, english_phrases, longest, mended
from planweave.goals.word_descriptions import Descriptions

_ON_WHOLE = ("on", "from", "off")


_NEWEST: dict[str, Descriptions] = {}  # by domain, of the world that was asked for last


def _described(domain: Domain, world: World) -> Descriptions:
    """The words of a world, found once for the many sentences that are tried in it."""
    newest = _NEWEST.get(domain.name)
    if newest is None or newest.domain is not domain or newest.world is not world:
        newest = _NEWEST[domain.name] = Descriptions(domain, world, lexicon(domain))
    return newest


class SentenceVocabulary:
    """The words with a meaning in a world."""

    def __init__(self, domain: Domain, world: World, clarifications: Iterable[Clarification] = ()) -> None:
        """clarifications: what a person said that phrases mean."""
        self.domain, self.world, self.lexicon = domain, world, lexicon(domain)
        self._clarified = {(c.at, c.text): c.meant for c in clarifications}
        self._described = _described(domain, world)
        given = [word for at, name in self._clarified if at < 0 for word in name.split()]
        #: Words of descriptions, and whether they are plurals.
        self.nouns = dict.fromkeys(given, False) | self._described.words
        # Names that end in a letter or number of their own: "location a", "red cube 2".
        self._joined = {
            tuple(spoken(n).lower().split()): n for n in world.by_name if "_" in n and len(n.rsplit("_", 1)[-1]) <= 3
        }
        if domain.name == "household":
            self._joined = {k: n for k, n in self._joined.items() if k[-1].isdigit()}

    def english(self, key: str) -> frozenset[Words]:
        return english_phrases()[key]

    def names(self) -> NounPhrases:
        """A resolver without context; results about words are shared."""
        fresh = NounPhrases(self.domain, self.world, self.lexicon)
        for key in ("features", "heads", "known_nouns", "all_features"):
            fresh.__dict__[key] = getattr(self._described, key)
        fresh.__dict__["words"] = self.nouns
        fresh.clarified = self._clarified
        return fresh

    def mended(self, words: Words) -> tuple[Words, tuple[Mended, ...], dict[str, tuple[str, ...]]]:
        """Words with names joined and typing errors corrected; see sentence_words.mended."""
        same, colours = self.lexicon.english["same"], self.lexicon.english["colours"]
        read = [w if w in self.nouns else same.get(w, w) for w in words]
        for at, word in enumerate(words):  # "coloured" says nothing after a colour, and only there
            if not read[at] and not (at and read[at - 1] in colours):
                read[at] = word
        words = self._two_coloured(tuple(w for w in self._join(tuple(read)) if w))
        known = {
            *self.nouns,
            *self.lexicon.words,
            *self.lexicon.english["questions"],
            *self.lexicon.english["superlatives"],
            *(w for w in words if " " in w),
        }
        return mended(words, known, self.nouns)

    def spelled(self, words: Words) -> Words:
        """Words with typing errors corrected, each by itself."""
        return tuple(w for word in self.mended(words)[0] for w in word.split())

    def _two_coloured(self, words: Words) -> Words:
        """ "the yellow and white mug", where there is such a mug, without the "and"."""
        colours = self.lexicon.english["colours"]
        found = list(words)
        for at in range(len(words) - 3, -1, -1):
            one, joint, two, noun = words[at : at + 4] if at + 4 <= len(words) else ("",) * 4
            colourful = joint == "and" and one in colours and two in colours and self.nouns.get(noun) is False
            if colourful and any({one, two, noun} <= features for features in self._described.features.values()):
                del found[at + 1]
        return tuple(found)

    def _join(self, words: Words) -> Words:
        joined: list[str] = []
        at = 0
        whole = {tuple(p.split()) for p in (self.domain.extra.get("goals") or {}).get("whole", ())}
        while at < len(words):
            if at and words[at - 1] in self.lexicon.english["spots"] and (length := longest(words, at, whole)):
                at += length  # "the left side of the table" is the left side
                continue
            if length := self._on_whole(words, at, whole):
                joined.append(" ".join(words[at : at + length]))  # one word
                at += length
                continue
            length = next((n for n in range(5, 1, -1) if words[at : at + n] in self._joined), 0)
            joined.append(self._joined[words[at : at + length]] if length else words[at])
            at += length or 1
        return tuple(joined)

    def _on_whole(self, words: Words, at: int, whole: Iterable[Words]) -> int:
        """Length of "on the table" where that is no object here; not of "on the table center"."""
        length = longest(words, at + 1, {w[1:] for w in whole}) if words[at] in _ON_WHOLE else 0
        end = at + 1 + length
        if not length or any(words[end - 1] in heads for heads in self._described.heads.values()):
            return 0
        return 0 if {*words[end : end + 1]} & {*self.nouns} else 1 + length

    def parser(self, words: Words, unknown: Iterable[str] = ()) -> Parser:
        """A parser for words; unknown ones may describe an object."""
        nouns = self.nouns
        if unknown:
            nouns = {**nouns, **{w: w.endswith("s") and not w.endswith("ss") for w in unknown}}
        return Parser(words, self.lexicon, nouns, self._described.known_nouns)

    def phrases(self, words: Words, unknown: Iterable[str] = ()) -> list[NounPhrase]:
        """All parses of words as one noun phrase; raises TooLongError."""
        return [thing for thing, end in self.parser(words, unknown).phrases_at(0) if end == len(words)]


def unsaid(words: Words, domain: Domain) -> list[tuple[str, str]]:
    """Words of a sentence, but verbs of the domain, that no goal can express, with the reason; a model ignores them."""
    told = {tuple(p.split()): why for key, why in english()["unsaid"].items() for p in key.split(", ")}
    for pattern in lexicon(domain).patterns:
        told.pop(tuple(part for part in pattern.parts if not part.startswith("{")), None)
    return [
        (" ".join(said), told[said])
        for at in range(len(words))
        if (n := longest(words, at, told))
        for said in (words[at : at + n],)
    ]
