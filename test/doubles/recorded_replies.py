"""Every recorded reply of test/cassettes with the product's reader for it, and a draft of another answer to each."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.core.trees.program import read_program
from planweave.llm.clients.base import ChatReply
from planweave.llm.parsing import letter, parse_choice, parse_goal, parse_plan, parse_reading, parse_step
from planweave.llm.step_list import numbered_steps
from planweave.methods.blocking import parse_selection
from planweave.methods.brainbody import parse_command
from planweave.methods.language.conditions import parse_truth
from planweave.methods.language.sampled import step_of
from planweave.methods.progprompt import completed

CASSETTES = Path(__file__).resolve().parents[1] / "cassettes"
OTHER = "pear"  # a thing of none of the recorded tasks


@dataclass(frozen=True)
class Recorded:
    """A recorded reply. draft: in its notation, for something else; read: its reader."""

    name: str
    answer: str
    draft: str
    read: Callable[[ChatReply], Any]


def recorded():
    """The different replies of all cassettes, and one to a condition, of which none is recorded."""
    found = {}
    for path in sorted(CASSETTES.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("{"):
                exchange = json.loads(line)
                for reply in exchange["reply"]["replies"]:
                    one = _recorded(path.stem, exchange["request"], reply["text"])
                    for each in (one, *_in_words(one)):
                        found.setdefault((each.name, each.answer), each)
    found["condition"] = Recorded("condition", "True", "False", lambda reply: parse_truth(reply.text))
    return list(found.values())


def _recorded(cassette, request, text):
    domain = Domain.load("household" if "household" in cassette else "tabletop")
    user, schema = request["messages"][-1]["content"], request["json_schema"]
    if schema and "not_covered" in schema["properties"]:
        draft = json.loads(text) | {"kind": "task", "goal": [f"holding({OTHER})"], "words": [], "not_covered": []}
        return Recorded(f"{cassette} reading", text, json.dumps(draft), lambda reply: parse_reading(reply.text))
    if schema:
        (key,) = schema["properties"]
        return Recorded(f"{cassette} {key}", text, _json_draft(key, json.loads(text)[key]), _json_reader(key, schema))
    if "blocking" in cassette:
        options = [_option(row) for row in re.findall(r"'\$\$ (.*?) \$\$'", user) if "<" not in row]
        said = options[parse_selection(text, options, domain)]
        other = next(o for o in options if o != said)
        draft = f"$$ {' '.join([other.name, *other.args])} $$"
        return Recorded(cassette, text, draft, lambda reply: parse_selection(reply.text, options, domain))
    if "progprompt" in cassette:
        arity = {name: len(schema.parameters) for name, schema in domain.actions.items()}
        draft = re.sub(r"'[a-z_]+'", f"'{OTHER}'", text)
        return Recorded(
            cassette, text, draft, lambda r: read_program(completed(r.text, "def task():", domain), arity).body
        )
    if "scene_aware" in cassette or "zero_shot" in cassette:
        number = int(re.findall(r"Step (\d+):\Z", user)[0])
        return Recorded(cassette, text, f"Pick up the {OTHER}", lambda reply: step_of(reply.text, number))
    if re.search(r"(?m)^(?:Step )?\d+: ", text):
        start = int(re.search(r"(?m)^(?:Step )?(\d+): ", text).group(1))
        draft = re.sub(
            r"(?m)^((?:Step )?\d+: ).*",
            rf"\1pick up the {OTHER}",
            text[re.search(r"(?m)^(?:Step )?\d", text).start() :],
        )
        return Recorded(cassette, text, draft, lambda reply: numbered_steps(reply.text, start)[0])
    return Recorded(cassette, text, f"<rob0>[grasp] <{OTHER}>", lambda reply: parse_command(reply.text))


def _in_words(one):
    """The same reply and draft where one of the two is no JSON, as endpoints write that know no schema."""
    if one.answer.startswith("{") and len(json.loads(one.answer)) == 1:
        answer, draft = _plain(one.answer), _plain(one.draft)
        yield replace(one, name=f"{one.name}, draft in words", draft=draft)
        if answer:
            yield replace(one, name=f"{one.name}, in words", answer=answer)


def _plain(text):
    """JSON of calls or of a choice as lines."""
    (value,) = json.loads(text).values()
    return value if isinstance(value, str) else "\n".join(value)


def _option(row):
    name, *args = row.split()
    return Action(name, tuple(args))


def _json_draft(key, value):
    other = {"plan": [f"grasp({OTHER})"], "goal": [f"holding({OTHER})"], "action": f"grasp({OTHER})"}.get(key)
    return json.dumps({key: other or ("B" if value == "A" else "A")})


def _json_reader(key, schema):
    if key == "choice":
        count = len(schema["properties"]["choice"]["enum"])
        assert schema["properties"]["choice"]["enum"][-1] == letter(count - 1)
        return lambda reply: parse_choice(reply.text, count)
    reader = {"plan": parse_plan, "goal": parse_goal, "action": parse_step}[key]
    return lambda reply: reader(reply.text)


def _marked(begin, end):
    return lambda draft, answer: f"{begin}Perhaps {draft}? Or\n{draft}\nNo.{end}{answer}"


#: Forms in which the answer must be read.
MARKED = {
    name: _marked(*marks)
    for name, marks in {
        "think": ("<think>", "</think>"),
        "thinking with an attribute": ("<thinking mode=deep>", "</thinking>\n"),
        "seed": ("<seed:think>", "</seed:think>"),
        "Mistral": ("[THINK]", "[/THINK]"),
        "reasoning": ("<reasoning>\n", "\n</reasoning>\n"),
        "thought": ("<thought>", "</thought>"),
        "Gemma": ("<|channel>thought\n", "<channel|>"),
        "Kimi": ("◁think▷", "◁/think▷"),
        "Cohere": ("<|START_THINKING|>", "<|END_THINKING|>"),
        "begun by the prompt": ("", "</think>"),
        "blocks of answers": ("<think>", "</think><answer>"),
        "final response": ("", "[BEGIN FINAL RESPONSE]"),
        "nested": ("<think>a<think>", "</think> and </think>"),
        "harmony": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        "harmony with a form": (
            "<|channel|>analysis<|message|>",
            "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
        ),
        "harmony begun by the prompt": ("", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        "harmony with a call": (
            "<|channel|>commentary to=functions.act<|message|>",
            "<|call|><|start|>assistant<|channel|>final<|message|>",
        ),
        "harmony without its tokens": ("analysisWe have ", "assistantfinal"),
    }.items()
}
#: Forms in which the draft must not win; the answer may be read, or nothing.
UNMARKED = {
    "unclosed": lambda draft, answer: f"<think>{draft}\n{answer}",
    "unclosed after the draft": lambda draft, answer: f"{draft}\n<think>No.\n{answer}",
    "harmony, unfinished": lambda draft, answer: f"<|channel|>analysis<|message|>{draft}\n{answer}",
    "a tool call": lambda draft, answer: f"<tool_call>{draft}</tool_call>{answer}",
    "prose": lambda draft, answer: f"Let me think. My first idea is {draft}. But that is wrong.\n\n{answer}",
    "prose on a line": lambda draft, answer: f"Perhaps {draft}? No. {answer}",
    "prose and lines": lambda draft, answer: f"First idea:\n{draft}\n\nThat does not do it. Better:\n{answer}",
    "lines alone": lambda draft, answer: f"{draft}\n\n{answer}",
    "fences": lambda draft, answer: f"First:\n```\n{draft}\n```\nCorrected:\n```\n{answer}\n```\n",
    "a label": lambda draft, answer: f"Draft: {draft}\nFinal answer: {answer}",
    "an alternative": lambda draft, answer: f"{answer}\n\nAnother way, which is not as good:\n{draft}",
    "an alternative on a line": lambda draft, answer: f"{answer} (not {draft})",
    "a fenced answer": lambda draft, answer: f"{draft} would be wrong.\n```json\n{answer}\n```",
}
