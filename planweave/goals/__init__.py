"""Reading of sentences as goal literals: a controlled-English grammar, question answering, goal checks.

Who is outside imports these names from here, and no module of this package; each is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planweave.goals.alternatives import which_reading as which_reading
    from planweave.goals.answer_reading import read_answer as read_answer
    from planweave.goals.given_names import bare as bare
    from planweave.goals.given_names import look_of as look_of
    from planweave.goals.given_names import naming_question as naming_question
    from planweave.goals.given_names import split_naming as split_naming
    from planweave.goals.goal_checks import checked_goal as checked_goal
    from planweave.goals.goal_grammar import formal as formal
    from planweave.goals.goal_grammar import read_sentence as read_sentence
    from planweave.goals.lexicon import english as english
    from planweave.goals.noun_phrases import NotCoveredError as NotCoveredError
    from planweave.goals.paraphrase import understood as understood
    from planweave.goals.reading_checks import checked_choices as checked_choices
    from planweave.goals.reading_checks import checked_given as checked_given
    from planweave.goals.reading_checks import checked_reading as checked_reading
    from planweave.goals.rule_files import RULES as RULES
    from planweave.goals.rule_files import RuleFile as RuleFile
    from planweave.goals.rule_grammar import read_rule as read_rule
    from planweave.goals.scene_questions import answer as answer
    from planweave.goals.scene_questions import is_question as is_question
    from planweave.goals.sentence_vocabulary import SentenceVocabulary as SentenceVocabulary
    from planweave.goals.sentence_vocabulary import unsaid as unsaid
    from planweave.goals.sentence_words import not_english as not_english
    from planweave.goals.sentence_words import without_politeness as without_politeness
    from planweave.goals.sentence_words import words_of as words_of
    from planweave.goals.suggestions import nearest as nearest

#: module: names there
_NAMES = {
    "alternatives": ("which_reading",),
    "answer_reading": ("read_answer",),
    "given_names": ("bare", "look_of", "naming_question", "split_naming"),
    "goal_checks": ("checked_goal",),
    "goal_grammar": ("formal", "read_sentence"),
    "lexicon": ("english",),
    "noun_phrases": ("NotCoveredError",),
    "paraphrase": ("understood",),
    "reading_checks": ("checked_choices", "checked_given", "checked_reading"),
    "rule_files": ("RULES", "RuleFile"),
    "rule_grammar": ("read_rule",),
    "scene_questions": ("answer", "is_question"),
    "sentence_vocabulary": ("SentenceVocabulary", "unsaid"),
    "sentence_words": ("not_english", "without_politeness", "words_of"),
    "suggestions": ("nearest",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'planweave.goals' has no attribute {name!r}", name=name)
    value = globals()[name] = getattr(import_module(f"planweave.goals.{_MODULES[name]}"), name)
    return value
