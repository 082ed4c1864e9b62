"""Scene-aware planner ("Generating executable action plans with environmentally-aware language models"), Section III.

The prompt is an example and the task, no more; the surroundings come in by the choice of the example (III.A) and by
the scores of each translated sample (III.B, III.C). The loop weighs the scores and adds the distance.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from planweave.core.domain import spoken
from planweave.core.ports import Candidate, Proposals
from planweave.core.world import Literal, World
from planweave.methods.prompting import example_part, message, one_line, plan_examples, render
from planweave.methods.question import Question
from planweave.methods.sampled import TOKENS, example_text, most_similar, steps_so_far, translated


def propose(question: Question, samples: int) -> Proposals:
    """k samples with their scores; a sample that could mean several things of one kind gives a candidate for each.

    Relatedness is the cosine of embeddings: chat endpoints give no log-probability of a text that they are sent, so
    the paper's score by the language model cannot be had. The record of the exchange says so.
    """
    set_ = question.settings
    index = chosen_example(question, set_.environment_weight)
    plans = plan_examples(question.domain)
    example = example_text(question, index) if plans else "(none)"
    messages = (
        message("system", render("scene_aware/system.txt", example=example)),
        message("user", render(
            "scene_aware/user.txt", task=one_line(question.sentence), number=str(len(question.history) + 1),
            steps=(steps_so_far(question, question.history) + "\n") if question.history else "")),
    )
    replies = question.ask(
        "proposals", messages, n=samples or set_.proposals, temperature=set_.proposal_temperature, max_tokens=TOKENS,
        logprobs=True, notes={"embedding": question.embedder.name, "relatedness": "cosine of embeddings"})
    around = [a for action in (plans[index][1] if plans else ()) for a in action.args]
    around += [a for action in question.history for a in action.args]
    candidates = []
    for text, found, logprob in translated(question, replies):
        if found is None:
            candidates.append(Candidate(text, None, logprob=logprob))
            continue
        candidates += [Candidate(text, action, found.match, found.object_match, logprob,
                                 relatedness(question, action.args, around)) for action in found.actions]
    return Proposals(tuple(candidates), replies.usage)


def relatedness(question: Question, names: Collection[str], around: Collection[str]) -> float:
    """P_o: how related objects are to those of the example and of the steps so far, 0 to 1, mean over both."""
    if not names or not around:
        return 0.0
    rows = question.embedder.embed([*map(spoken, names), *map(spoken, around)])
    return float(max(0.0, min(1.0, (rows[: len(names)] @ rows[len(names) :].T).mean())))


def chosen_example(question: Question, weight: float) -> int:
    """Index of the example with the highest S_M(task, task_i) + W_e · S_G(E, E_i) (III.A)."""
    examples: list[dict[str, Any]] = example_part(question.domain, "plans", [])
    alike = most_similar(question, [str(e["task"]) for e in examples])
    nodes, edges = scene_graph(question.world)
    best, best_score = 0, float("-inf")
    for index, example in enumerate(examples):
        scene = example.get("scene", {})
        others = frozenset(scene.get("objects", ()))
        relations = frozenset(_edge(Literal.parse(f)) for f in scene.get("facts", ()))
        score = alike[index] + weight * (_overlap(nodes, others) + _overlap(edges, relations)) / 2
        if score > best_score:
            best, best_score = index, score
    return best


def scene_graph(world: World) -> tuple[frozenset[str], frozenset[tuple[str, ...]]]:
    """The classes that there are, and the relations between classes."""
    kinds = {o.name: o.class_name or o.name for o in world.objects}
    pairs: set[tuple[str, ...]] = set()
    for predicate, facts in world.by_predicate.items():
        if len(facts[0].args) == 2:
            pairs.update([(predicate, kinds.get(f.args[0], ""), kinds.get(f.args[1], "")) for f in facts])
    return frozenset(kinds.values()), frozenset(e for e in pairs if e[1] and e[2])


def _edge(literal: Literal) -> tuple[str, ...]:
    return (literal.predicate, *literal.args)


def _overlap(one: frozenset[Any], two: frozenset[Any]) -> float:
    """Intersection over union; 0 for two empty sets."""
    return len(one & two) / len(one | two) if one | two else 0.0
