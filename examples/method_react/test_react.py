"""The method in a home, with a model that replies what it is told to. Planweave must be installed, and this package."""

import json

import pytest

from planweave.bench.methods import parse_method
from planweave.bench.suites import SUITES
from planweave.core.base.errors import ParseError, UnknownNameError
from planweave.core.base.usage import Usage
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply
from planweave.methods import METHODS
from planweave.methods.language.planner import LanguagePlanner
from planweave.methods.running.episode import Episode
from planweave.methods.running.journal import Journal


class Scripted:
    """Gives its replies in turn and keeps the last message of each question."""

    endpoint, model, capabilities = "scripted", "scripted", Capabilities(json_schema=True)

    def __init__(self, replies):
        self.replies, self.asked = list(replies), []

    def complete(self, request):
        self.asked.append(request.messages[-1]["content"])
        return ChatReplies((ChatReply(self.replies.pop(0)),), Usage(1, 100, 0, 20))

    def close(self):
        """Nothing is held."""


def play(replies, method="react", said=()):
    """The task watch_tv of the suite `home`."""
    case = SUITES["home"].cases()["watch_tv"]
    stage, client = SUITES["home"].stage(case), Scripted(replies)
    episode = Episode("", case.sentence, case.goal, stage.domain, LanguagePlanner(client), stage.body, Journal())
    episode.said.extend(said)
    name, options, _ = parse_method(method)
    METHODS[name](**options).run(episode)
    return episode, client, stage.conditions(())


def turn(action, thought="so it goes"):
    return json.dumps({"thought": thought, "action": action})


GOLD = ["walk(tv_65)", "switchon(tv_65)", "walk(sofa_18)", "sit(sofa_18)"]


def test_the_method_is_found():
    assert METHODS.package_of("react") == "planweave-react"


def test_thoughts_actions_and_observations_take_turns_until_the_goal_is_reached():
    episode, client, conditions = play([turn(a, f"thought of {a}") for a in [*GOLD, "end"]])
    assert all(conditions.values()) and episode.phase == "plan ended" and episode.executed == 4
    lines = [line for line in client.asked[-1].splitlines() if line.startswith(("Thought", "Action ", "Observation"))]
    assert lines[:2] == ["Thought 1: thought of walk(tv_65)", "Action 1: walk(tv_65)"]
    assert lines[2].startswith("Observation 1: ") and len(lines) == 12


def test_a_failed_action_is_an_observation():
    episode, client, conditions = play([turn("switchon(tv_65)"), *map(turn, [*GOLD, "end"])])
    assert "Observation 1: It failed: " in client.asked[1] and all(conditions.values())


def test_what_a_person_says_is_told_to_the_model():
    _, client, _ = play([turn("end")], said=["the other\nremote"])
    assert "A person said: the other remote" in client.asked[0]


def test_turns_as_the_paper_writes_them_are_read():
    replies = [f"Thought {i}: first this.\nAction {i}: {a}" for i, a in enumerate([*GOLD, "end"], 1)]
    assert all(play(replies)[2].values())


@pytest.mark.parametrize("reply", ["I am sorry.", '{"thought": "hm"}', turn("fly(moon)"), "[]", "null", "[" * 10_000])
def test_a_reply_that_is_no_turn_is_refused(reply):
    with pytest.raises(ParseError):
        play([reply])


def test_it_ends_after_max_steps():
    episode, *_ = play([turn("walk(tv_65)")] * 2, "react:max_steps=2")
    assert episode.message == "no end after 2 actions"


def test_a_wrong_option_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"option of react.*max_step.*did you mean 'max_steps'"):
        parse_method("react:max_step=1")
