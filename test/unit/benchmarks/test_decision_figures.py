"""The figures of decisions: the same questions each time, and one figure for each. How fast is not asserted."""

import json

import pytest

from benchmarks.decision_figures import Decisions, decision_figures

ASKS_NOBODY = ("condition by rule", "goal by the grammar", "command (lang_prompt)")  # rules are enough


@pytest.fixture(scope="module")
def decisions():
    return Decisions()


def test_questions_do_not_depend_on_what_was_asked_before(decisions):
    """All questions twice to one planner, and once to a fresh one: the same requests."""

    def requests(some):
        asked, worlds, complete = [], some.worlds(), some.client.complete
        some.client.complete = lambda request: asked.append(request.as_dict()) or complete(request)
        for replies, ask in some.questions().values():
            some.client.texts = list(replies)
            ask(next(worlds))
        some.client.complete = complete
        return json.dumps(asked)

    assert requests(decisions) == requests(decisions) == requests(Decisions())


def test_every_question_is_measured(decisions):
    figures = decision_figures(decisions, repeats=1)
    assert decisions.objects == 443 and set(figures) == set(decisions.questions())
    for name, row in figures.items():
        assert row["median_ms"] > 0
        assert (row["characters"] == 0) == (name in ASKS_NOBODY)
