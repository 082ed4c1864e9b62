"""Every question of the planner: the same request each time."""

import json

import pytest
from doubles.decisions import Decisions


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
