"""Scene-aware planner ("Generating executable action plans with environmentally-aware language models"), Algorithm 1.

At each step k samples are translated to admissible actions over the objects of the scene, scored, and the best is
appended. The plan ends below a cutoff, and where more than half of the samples say that the task is done (a chat model
says so; the paper's completions do not). The complete plan is then executed.

The prompt consists of an example and the task; the scene enters through the choice of the example (III.A) and the
scores of each translated sample (III.B, III.C). The loop weighs the scores and adds the distance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from planweave.core.base.parameter import option
from planweave.core.symbolic.domain import spoken
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import Candidate, Proposals
from planweave.methods.language.prompting import done_text, examples_for, plan_examples, turn
from planweave.methods.language.question import Question, Questions
from planweave.methods.language.sampled import example_text, follow_sampled, most_similar, sampled_steps
from planweave.methods.running.episode import Episode
from planweave.methods.running.options import PaperMode

Graph = tuple[frozenset[str], frozenset[tuple[str, ...]]]  # classes; relations with the classes of what they relate
_NUMBERS = re.compile(r"(?:_\d+)+\Z")


def propose(question: Question, samples: int) -> Proposals:
    """k samples with their scores; a sample that matches several objects of one kind gives a candidate for each.

    Relatedness is the cosine of embeddings: chat endpoints return no log-probability of given texts, so that the
    paper's score by the language model is not available. The record of the exchange says so.
    """
    index = chosen_example(question, question.settings.environment_weight)
    plans = plan_examples(question.domain, question.sentence)
    example = example_text(question, index) if plans else "(none)"
    system = turn("system", "scene_aware/system.txt", example=example, done=done_text(question.domain))
    rows, usage = sampled_steps(question, system, samples, relatedness="cosine of embeddings")
    around = [a for action in (plans[index][1] if plans else ()) for a in action.args]
    around += [a for action in question.history for a in action.args]
    candidates = []
    for text, found, logprob in rows:
        if found is None:
            candidates.append(Candidate(text, None, logprob=logprob))
            continue
        candidates += [
            Candidate(
                text, action, found.match, found.object_match, logprob, relatedness(question, action.args, around)
            )
            for action in found.actions
        ]
    return Proposals(tuple(candidates), usage)


def relatedness(question: Question, names: Collection[str], around: Collection[str]) -> float:
    """P_o: how related objects are to those of the example and of the steps so far, 0 to 1, mean over both."""
    if not names or not around:
        return 0.0
    rows = question.embedder.embed([*map(spoken, names), *map(spoken, around)])
    return float(max(0.0, min(1.0, (rows[: len(names)] @ rows[len(names) :].T).mean())))


def chosen_example(question: Question, weight: float) -> int:
    """Index of the example with the highest S_M(task, task_i) + W_e · S_G(E, E_i) (III.A)."""
    examples = examples_for(question.domain, "plans", question.sentence)
    alike = most_similar(question, [str(e["task"]) for e in examples])
    here = scene_graph(question.world)
    scores = [
        similar + weight * _scene_likeness(here, example) if weight else similar
        for similar, example in zip(alike, examples)
    ]
    return max(range(len(scores)), key=scores.__getitem__, default=0)


def _scene_likeness(here: Graph, example: Mapping[str, Any]) -> float:
    """S_G: mean over nodes and edges of the share of an example's graph that is found here.

    The paper compares two whole environments by intersection over union. An example here tells an excerpt of its
    environment, whose union with a whole home would always be the home; without one the classes in its plan count.
    """
    scene = example.get("scene", {})
    args = [a for step in example.get("plan", ()) for a in Action.parse(str(step)).args]
    nodes = frozenset(scene.get("objects", ())) or frozenset(_NUMBERS.sub("", a) for a in args)
    edges = frozenset(Literal.parse(f).key for f in scene.get("facts", ()))
    shares = [len(there & found) / len(there) for there, found in ((nodes, here[0]), (edges, here[1])) if there]
    return sum(shares) / len(shares) if shares else 0.0


def scene_graph(world: World) -> Graph:
    """The present classes, and the relations between classes."""
    kinds = {o.name: o.class_name or o.name for o in world.objects}
    pairs: set[tuple[str, ...]] = set()
    for predicate, facts in world.by_predicate.items():
        if len(facts[0].args) == 2:
            pairs.update([(predicate, kinds.get(f.args[0], ""), kinds.get(f.args[1], "")) for f in facts])
    return frozenset(kinds.values()), frozenset(e for e in pairs if e[1] and e[2])


def _kind(world: World, action: Action | None) -> tuple[str, ...]:
    """The action's name with the classes of its objects."""
    if action is None:
        return ()
    return (action.name, *(world.by_name[a].class_name if a in world.by_name else a for a in action.args))


DISTANCES = ("relative", "absolute")


@dataclass
class SceneAware(PaperMode):
    """Weights of Section III.D, from the grid of Table IX; samples is k; repetition: penalty for each repeated
    action, part of P_oD in the paper. distance: the paper adds P_oD as it is, so that near things gain over far ones of
    other classes, too.
    """

    questions: ClassVar[Questions] = Questions(propose={"scene_aware": propose})
    PAPER: ClassVar[Mapping[str, Any]] = {"end_by_vote": False, "distance": "absolute"}

    samples: int = option(10, "samples of each step, k", 1, 200)
    weight_probability: float = option(0.5, "W_a, of the sample's mean log-probability", 0.0, 100.0)
    weight_match: float = option(1.0, "W_aM, of the match to the admissible action", 0.0, 100.0)
    weight_relevance: float = option(0.25, "W_o, of the objects' relatedness", 0.0, 100.0)
    weight_object_match: float = option(0.7, "W_oM, of the match of the objects' names", 0.0, 100.0)
    weight_distance: float = option(0.5, "W_oD, of the distance to the last step's objects", 0.0, 100.0)
    distance: str = option(
        "relative", "P_oD as exp(-d/100), or relative to the nearest object of the class", choices=DISTANCES
    )
    repetition: float = option(0.5, "taken off for each earlier use of the same action", 0.0, 100.0)
    cutoff: float = option(1.0, "score below which the plan ends", -100.0, 100.0)
    max_steps: int = option(20, "steps at most", 1, 1000)
    end_by_vote: bool = option(True, "end the plan where more than half of the samples say that the task is done")

    def run(self, episode: Episode) -> None:
        def choose(world: World, plan: Sequence[Action], candidates: Sequence[Candidate]) -> Action | None:
            scored = self._scores(world, plan, candidates)
            ended = sum(c.action is None for c in candidates)
            if not scored or (self.end_by_vote and 2 * ended > self.samples):
                episode.journal.add("scored", ended=ended, samples=self.samples)
                return None
            best, score = max(scored, key=lambda row: row[1])
            episode.journal.add("scored", best=str(best), score=round(score, 4), cutoff=self.cutoff)
            return best if score >= self.cutoff else None

        follow_sampled(episode, "scene_aware", self.samples, self.max_steps, choose)

    def _scores(
        self, world: World, plan: Sequence[Action], candidates: Sequence[Candidate]
    ) -> list[tuple[Action, float]]:
        """The weighted sum for each candidate. A relative distance ranks objects of one class, whose other scores are
        equal: the nearest gets 0, the others less.
        """
        actions = [c for c in candidates if c.action is not None]
        near = [self._nearness(world, plan, c.action) for c in actions if c.action is not None]
        best: dict[tuple[str, ...], float] = {}
        for candidate, closeness in zip(actions, near):
            kind = _kind(world, candidate.action)
            best[kind] = max(closeness, best.get(kind, 0.0))
        rows = []
        for candidate, closeness in zip(actions, near):
            assert candidate.action is not None
            distance_score = closeness
            if self.distance == "relative":
                distance_score -= best[_kind(world, candidate.action)]
            repeated = sum(a == candidate.action for a in plan)
            score = (
                self.weight_probability * (candidate.logprob or 0.0)
                + self.weight_match * candidate.match
                + self.weight_relevance * candidate.relatedness
                + self.weight_object_match * candidate.object_match
                + self.weight_distance * distance_score
                - self.repetition * repeated
            )
            rows.append((candidate.action, score))
        return rows

    @staticmethod
    def _nearness(world: World, plan: Sequence[Action], action: Action) -> float:
        """exp(-d / 100) for the mean distance d (centimetres) to the objects of the last step; 0 where unknown, and 1
        where the last step had no objects: nothing is nearer than another then.
        """
        if not plan or not plan[-1].args:
            return 1.0
        distances = []
        for name in action.args:
            for other in plan[-1].args:
                a, b = world.by_name.get(name), world.by_name.get(other)
                if a and b and a.position and b.position:
                    distances.append(100 * math.dist(a.position, b.position))
        return math.exp(-sum(distances) / len(distances) / 100) if distances else 0.0
