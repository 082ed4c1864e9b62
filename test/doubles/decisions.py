"""Every question of the planner about a large home, with ready replies that take no time; each to a world that was not
seen before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from doubles.home_graphs import large_home
from planweave.bodies.home.graph import graph_from
from planweave.bodies.home.observation import Observer
from planweave.bodies.home.simulator import HomeSimulator
from planweave.core.base.usage import Usage
from planweave.core.checks.validation import Validator
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.trees.action_tree import build_tree
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply, ChatRequest
from planweave.methods.language.planner import LanguagePlanner
from planweave.methods.language.settings import PlannerSettings

SENTENCE = "put the salmon in the fridge"
PROGRAM = """def put_the_salmon_in_the_fridge():
    # 1: take the salmon
    find('salmon')
    grab('salmon')
    # 2: put it in the fridge
    find('fridge')
    assert('close' to 'fridge')
        else: find('fridge')
    assert('fridge' is 'opened')
        else: open('fridge')
    putin('salmon', 'fridge')
    close('fridge')
    # 3: Done"""
STEPS = """0: find the salmon
1: grab the salmon
2: find the fridge
3: open the fridge
4: put the salmon in the fridge
5: close the fridge"""


class ReadyReplies:
    """A model that answers at once with the texts it was given."""

    endpoint, model = "ready", "ready"
    capabilities = Capabilities(n=True, json_schema=True, logprobs=False)

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.characters = 0

    def complete(self, request: ChatRequest) -> ChatReplies:
        """The texts in turn, as many as were asked for."""
        self.characters = sum(len(m["content"]) for m in request.messages)
        return ChatReplies(
            tuple(ChatReply(self.texts[i % len(self.texts)], logprob=-3.0, tokens=10) for i in range(request.n)),
            Usage(1),
        )

    def close(self) -> None:
        """Nothing is held."""


class Decisions:
    """A planner with ready replies on a home, on worlds along a way through it. objects: how many the world tells."""

    def __init__(self, graph: dict[str, Any] | None = None) -> None:
        self.simulator = HomeSimulator(graph_from(graph or large_home()))
        self.domain: Domain = self.simulator.vocabulary.domain
        names = {n.class_name: n.name for n in reversed([*self.simulator.graph.nodes.values()])}
        self.salmon, self.fridge = names["salmon"], names["fridge"]
        calls = [
            ("find", self.salmon),
            ("grab", self.salmon),
            ("find", self.fridge),
            ("open", self.fridge),
            ("putin", self.salmon, self.fridge),
            ("close", self.fridge),
        ]
        self.plan = tuple(Action(name, args) for name, *rest in calls for args in [tuple(rest)])
        self.goal = (Literal("inside", (self.salmon, self.fridge)), Literal("closed", (self.fridge,)))
        observer = Observer()
        observer.begin(self.simulator)
        self._worlds = [observer.look(self.simulator)]
        for action in self.plan[:4]:
            self.simulator.execute(action)
            self._worlds.append(observer.look(self.simulator))
        self.objects = len(self._worlds[0].objects)
        self.client = ReadyReplies()
        self.planner = LanguagePlanner(self.client, PlannerSettings())

    def worlds(self) -> Iterator[World]:
        """The worlds in turn without end, each a new one."""
        while True:
            for revision, world in enumerate(self._worlds):
                yield replace(world, revision=revision)

    def questions(self) -> dict[str, tuple[tuple[str, ...], Callable[[World], object]]]:
        """What is asked: ready replies, and the question with all that is done with its answer."""
        p, calls = self.planner, [str(a) for a in self.plan]
        find, grab = self.plan[:2]
        options = [find, grab, self.plan[2], None]
        plans = tuple(json.dumps({"plan": [*calls[:i], *calls[i + 1 :]] if i < 5 else calls}) for i in range(9))
        step = json.dumps({"action": calls[1]})

        def sampled(world: World) -> object:
            found = p.generate_plans(SENTENCE, world)
            validator = Validator(self.domain, world)
            return build_tree(found.plans), [validator.check(x.actions, self.goal) for x in found.plans]

        def written(world: World) -> object:
            return p.write("brainbody", SENTENCE, world)

        return {
            "25 plans, tree and check": (plans, sampled),
            "choice": (('{"choice": "B"}',), lambda w: p.choose_action(SENTENCE, w, [find], options)),
            "next step (iterative)": ((step,), lambda w: p.propose_steps("iterative", SENTENCE, w, [find])),
            "10 proposals (zero_shot)": (
                ("Grab the salmon", "Pick up the salmon", "Walk to the fridge", "Open the refrigerator"),
                lambda w: p.propose_steps("zero_shot", SENTENCE, w, [find]),
            ),
            "10 proposals (scene_aware)": (
                ("Grab the salmon", "Pick up the salmon", "Walk to the fridge", "Open the refrigerator"),
                lambda w: p.propose_steps("scene_aware", SENTENCE, w, [find]),
            ),
            "selection (blocking)": (
                (f"$$ {find.name} {self.salmon} $$",),
                lambda w: p.select_action("blocking", SENTENCE, w, [], [find, grab], goal=self.goal),
            ),
            "program (progprompt)": (
                (PROGRAM,),
                lambda w: p.write("progprompt", SENTENCE, w, options={"comments": True, "assertions": True}),
            ),
            "plan in words (brainbody)": ((STEPS,), written),
            "command (brainbody)": (
                (f"<char0>[grab] <{self.salmon}>",),
                lambda w: p.ground_step("brainbody", SENTENCE, "grab the salmon", w),
            ),
            "command (lang_prompt)": (
                (calls[1],),
                lambda w: p.ground_step("lang_prompt", SENTENCE, "grab the salmon", w),
            ),
            "condition by rule": (("True",), lambda w: p.check_condition("'fridge' is 'opened'", w)),
            "condition by the model": (("True",), lambda w: p.check_condition("'salmon' is 'fresh'", w)),
            "goal by the grammar": (("",), lambda w: p.interpret_goal(f"put {self.salmon} in {self.fridge}", w)),
        }
