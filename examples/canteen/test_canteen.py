"""The domain and the body by their names. Planweave must be installed, and this package."""

import json

import pytest

import planweave as pw
from planweave.bodies import BODIES, make_body
from planweave.core.base.usage import Usage
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply

CUP = [
    "drive(cupboard)",
    "open(cupboard)",
    "drive(table)",
    "pick(cup, table)",
    "drive(cupboard)",
    "put_in(cup, cupboard)",
]


def do(sentence, **options):
    return pw.run(sentence, body="canteen", **{"method": "classical", "model": "none", **options})


def test_the_body_is_found():
    assert BODIES.package_of("canteen") == "planweave-canteen" and make_body("canteen").observe().domain == "canteen"
    with pytest.raises(pw.UnknownNameError, match="unknown body 'cantin'; did you mean 'canteen'"):
        pw.run("open the fridge", body="cantin")


@pytest.mark.parametrize(
    ("sentence", "goal"),
    [
        ("put the cup in the cupboard", ["in(cup, cupboard)"]),
        ("put the milk in the fridge and close it", ["in(milk, fridge)", "not opened(fridge)"]),
        ("wash the bowl and put it in the cupboard", ["washed(bowl)", "in(bowl, cupboard)"]),
        ("bring the apple to the table", ["on(apple, table)"]),
        ("drive to the sink", ["robot_at(sink)"]),
        ("pick up the cup", ["holding(cup)"]),
    ],
)
def test_sentences_are_read_and_done_without_a_model(sentence, goal):
    result = do(sentence)
    assert result.success, result.message
    assert [str(literal) for literal in result.goal] == goal and result.usage.requests == 0


def test_a_question_is_answered():
    assert do("where is the apple?").message == "answered: The apple is in the fridge"


def test_what_cannot_be_says_why():
    result = do("wash the milk")
    assert not result.success and "milk cannot be washed" in result.message, result.message


class Model:
    """Gives one plan and keeps what it was asked."""

    endpoint, model, capabilities = "scripted", "scripted", Capabilities(True, True, True)

    def __init__(self, plan):
        self.plan, self.asked = plan, ""

    def complete(self, request):
        self.asked = "\n".join(message["content"] for message in request.messages)
        return ChatReplies((ChatReply(json.dumps({"plan": self.plan})),) * request.n, Usage(1, 100, 0, 20))

    def close(self):
        """Nothing is held."""


def test_a_model_plans_with_the_actions_and_the_examples_of_the_domain():
    model = Model(CUP)
    result = do("put the cup in the cupboard", method="tree_planner", model=model, fallback="")
    assert result.success and [str(action) for action, _ in result.steps] == CUP
    assert "drive(p: place): drive to the p" in model.asked and "Put the spoon in the drawer" in model.asked
