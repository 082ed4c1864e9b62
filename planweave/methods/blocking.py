"""Blocking conditions and resolutions (BCR), Sections III and IV: one action at a time, selected among useful ones.

Roots achieve a goal literal; a blocked action gets the actions that resolve its blocking conditions as children; the
candidates are the leaves; an executed action is removed together with its siblings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from planweave.core.base.errors import ParseError, SeveralAnswersError
from planweave.core.base.failure import TRANSIENT
from planweave.core.base.parameter import option
from planweave.core.checks.assumptions import UnobservedEffects, unseen_marks
from planweave.core.checks.blocking import lacking, resolution_actions, revealing_actions
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.rules import RuleError
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import Choice
from planweave.llm.parsing import bounded
from planweave.llm.reasoning import read_each
from planweave.methods.language.conditions import plain_words
from planweave.methods.language.prompting import effect_text, observation_text, one_line, turn
from planweave.methods.language.question import Question, Questions
from planweave.methods.running.episode import Episode
from planweave.methods.running.options import PaperMode

_TOKENS = 300
_MAX_ACTION = 300  # characters
MAX_CHARACTERS = 50_000


def select(question: Question, options: Sequence[Action], goal: Sequence[Literal]) -> Choice:
    """The index of the candidate that the model selects; an answer outside the list is a ParseError."""
    domain, world = question.domain, question.world
    done = [domain.phrase(g) for g in goal if world.holds(g)]
    left = [domain.phrase(g) for g in world.unmet(goal)]
    messages = (
        turn("system", "blocking/system.txt"),
        turn(
            "user",
            "blocking/user.txt",
            observation=observation_text(domain, question.shown),
            previous="; ".join(map(_shown, question.history)) or "none",
            completed="; ".join(done) or "none",
            candidates=", ".join(f"'$$ {_shown(o)} $$'{_effect(domain, o)}" for o in options),
            goal="; ".join(left) or one_line(question.sentence),
            task=one_line(question.sentence),
            errors="\n".join(f"- {one_line(e)}" for e in question.errors) or "none",
        ),
    )
    replies = question.ask(
        "selection",
        messages,
        about={"options": tuple(options)},
        temperature=question.settings.select_temperature,
        max_tokens=_TOKENS,
    )
    rows, problem = read_each(replies, lambda reply: parse_selection(reply.text, options, domain))
    if not rows:
        raise ParseError(problem)
    index = rows[0][1]
    return Choice(index, tuple(int(i == index) for i in range(len(options))), 0, replies.usage)


def parse_selection(text: str, options: Sequence[Action], domain: Domain) -> int:
    """Index of the option between ``$$`` marks; raises ParseError where it is none, or there are several.

    An action is accepted in any notation: ``grasp(red_cube)``, ``grasp red_cube``, or its phrase.
    """
    bounded(text, MAX_CHARACTERS)
    known: dict[str, int] = {}
    for index, action in enumerate(options):
        for writing in (domain.phrase(action), _shown(action)):
            known[plain_words(writing)] = index
    between = [part.strip() for part in text.split("$$")[1:-1:2]]
    marked = [m for m in between if len(m) <= _MAX_ACTION and "\n" not in m and plain_words(m)]
    after = text[text.rfind("$$") + 2 :] if marked else text
    marked += [line for line in after.splitlines() if plain_words(line) in known]
    if not marked:
        raise ParseError(f"no action between $$ marks in the reply {text[:100]!r}; expected $$ action $$")
    found = {known[plain_words(m)] for m in marked if plain_words(m) in known}
    if not found:
        raise ParseError(f"{marked[0][:100]!r} is not in the list of actions")
    if len(found) > 1:
        raise SeveralAnswersError(
            f"the reply selects {len(found)} actions: {', '.join(marked)[:200]}; one was asked for"
        )
    return found.pop()


def _shown(action: Action) -> str:
    """As in the paper's example: the name and its objects."""
    return " ".join([action.name, *action.args])


def _effect(domain: Domain, action: Action) -> str:
    """What the name does not say, in brackets."""
    effect = effect_text(domain, action)
    return f" ({effect})" if effect else ""


@dataclass(eq=False)
class SubgoalStep:
    """A node of the tree of steps; resolves: the literal that it achieves."""

    action: Action
    resolves: Literal
    parent: SubgoalStep | None
    children: list[SubgoalStep] = field(default_factory=list)


REVEALS = ("stuck", "unseen")


@dataclass
class Blocking(PaperMode):
    """max_actions as in the paper, 100; asked_again: number of repeated requests after an answer outside the list.

    reveal: when actions that may show an unseen object are candidates: "unseen", as in the paper, where an action would
    need an object that was never seen, which then blocks it; "stuck" where such an action failed or no candidate is
    left. max_candidates: per literal and action schema; what it cuts off is recorded. retries: of an action that failed
    with one of `planweave.core.base.failure.TRANSIENT`, offered again where no other candidate is left.
    """

    questions: ClassVar[Questions] = Questions(select={"blocking": select})
    PAPER: ClassVar[Mapping[str, Any]] = {"reveal": "unseen", "max_candidates": 0, "retries": 0}

    max_actions: int = option(100, "actions at most", 1, 10_000)
    asked_again: int = option(2, "repetitions of a question answered outside the list", 0, 100)
    reveal: str = option("stuck", "when to offer what may show an unseen object", choices=REVEALS)
    max_candidates: int = option(15, "candidates per literal and kind of action at most; 0: all", 0, 100_000)
    retries: int = option(2, "repetitions of an action that failed by chance, where nothing else is left", 0, 100)

    def run(self, episode: Episode) -> None:
        """Select, try, and add resolutions where blocked, until the goal holds."""
        observed, predicted = episode.observe(), UnobservedEffects()
        roots: list[SubgoalStep] = []
        errors: list[str] = []
        tried: set[tuple[Action, frozenset[Literal]]] = set()  # with these facts it did not help: not offered again
        failed: Counter[Action] = Counter()  # by chance
        history: list[Action] = []
        while observed.unmet(episode.goal) and episode.steps < self.max_actions:
            world = predicted.applied_to(episode.domain, observed)
            self._plant(episode, world, roots)
            leaves = self._offered(episode, world, roots, tried, history)
            if not leaves:
                leaves = [s for s in self._leaves(roots, world) if 0 < failed[s.action] <= self.retries]
            options = list(dict.fromkeys(s.action for s in leaves))
            if not options:
                episode.tell(message="no action is left that could help")
                return
            chosen = self._select(episode, world, history, options, errors)
            step = next(s for s in leaves if s.action == chosen)
            tried.add((chosen, world.facts))
            try:
                missing = self._blocked(episode, world, step)
            except RuleError as error:  # it is tried, so that it is not offered again in this state
                errors.append(f"{chosen}: {error}")
                episode.steps += 1
                continue
            if missing:
                errors.append(f"{chosen}: blocked until {' and '.join(episode.domain.phrase(m) for m in missing)}")
                episode.steps += 1
                self._resolve(episode, world, step, missing)
                continue
            outcome = episode.execute(chosen)
            before, observed = observed, outcome.world
            if outcome.ok:
                predicted.record(episode.domain, before, observed, chosen)
                history.append(chosen)
                errors.clear()
                self._remove(roots, step)
            elif outcome.final:
                return
            else:
                episode.corrections += 1
                failed[chosen] += outcome.code in TRANSIENT
                predicted.discard(chosen)
                errors.append(f"{chosen}: {outcome.message}")
                world = predicted.applied_to(episode.domain, observed)
                self._resolve(episode, world, step, outcome.unmet)
                if not step.children and outcome.code not in TRANSIENT:
                    self._resolve(episode, world, step, self._unseen(episode, world, step))

    def _offered(
        self,
        episode: Episode,
        world: World,
        roots: list[SubgoalStep],
        tried: set[tuple[Action, frozenset[Literal]]],
        history: list[Action],
    ) -> list[SubgoalStep]:
        """The leaves that may help; where there are none, those that may show an unseen object."""

        def fresh() -> list[SubgoalStep]:
            return [
                s
                for s in self._leaves(roots, world)
                if (s.action, world.facts) not in tried and not (s.action in history and s.resolves.negated() in marks)
            ]

        marks = unseen_marks(episode.domain, world)
        leaves = fresh()
        if not leaves:
            for leaf in self._leaves(roots, world):
                self._resolve(episode, world, leaf, self._unseen(episode, world, leaf))
            leaves = fresh()
        return leaves

    def _unseen(self, episode: Episode, world: World, step: SubgoalStep) -> tuple[Literal, ...]:
        """The literals that would say that the objects of an action were seen."""
        marks = unseen_marks(episode.domain, world)
        return tuple(sorted(m.negated() for m in marks if set(m.args) & set(step.action.args)))

    def _plant(self, episode: Episode, world: World, roots: list[SubgoalStep]) -> None:
        """Add roots for every unmet goal literal; remove those of literals that hold."""
        roots[:] = [r for r in roots if not world.holds(r.resolves)]
        for literal in world.unmet(episode.goal):
            if not any(r.resolves == literal for r in roots):
                roots += [SubgoalStep(a, literal, None) for a in self._achievers(episode, world, literal)]

    def _achievers(self, episode: Episode, world: World, literal: Literal) -> list[Action]:
        domain, transition = episode.domain, Transition(episode.domain, world)
        if literal.negated() in unseen_marks(domain, world):
            able = revealing_actions(domain, transition, transition.state())
        else:
            able = resolution_actions(domain, transition, transition.state(), literal)
        able = [action for action in able if action.name not in world.actions_off]
        of_name: Counter[str] = Counter()
        kept = []
        for action in able:
            of_name[action.name] += 1
            if not self.max_candidates or of_name[action.name] <= self.max_candidates:
                kept.append(action)
        if len(kept) < len(able):
            episode.journal.add(
                "candidates_cut", literal=str(literal), left_out=len(able) - len(kept), limit=self.max_candidates
            )
        return kept

    def _leaves(self, steps: list[SubgoalStep], world: World) -> list[SubgoalStep]:
        """Steps without children; children whose blocking condition no longer holds are removed first."""
        found = []
        for step in steps:
            step.children = [c for c in step.children if not world.holds(c.resolves)]
            found += self._leaves(step.children, world) if step.children else [step]
        return found

    def _blocked(self, episode: Episode, world: World, step: SubgoalStep) -> tuple[Literal, ...]:
        """Blocking conditions of a step: of its action, and of the effect that it is needed for."""
        if self.reveal == "unseen" and (unseen := self._unseen(episode, world, step)):
            return unseen
        transition = Transition(episode.domain, world)
        state = transition.state()
        missing = transition.unmet(state, step.action)
        more = lacking(episode.domain, transition, state, step.action, step.resolves)
        return tuple(dict.fromkeys((*missing, *more)))

    def _resolve(self, episode: Episode, world: World, step: SubgoalStep, missing: tuple[Literal, ...]) -> None:
        """Add children for every blocking condition, except actions that are among the ancestors."""
        above = {step.action}
        node = step.parent
        while node is not None:
            above.add(node.action)
            node = node.parent
        for literal in missing:
            step.children += [
                SubgoalStep(a, literal, step)
                for a in self._achievers(episode, world, literal)
                if a not in above and a not in {c.action for c in step.children}
            ]

    def _remove(self, roots: list[SubgoalStep], step: SubgoalStep) -> None:
        """Remove an executed action and its siblings for the same literal."""
        siblings = roots if step.parent is None else step.parent.children
        siblings[:] = [s for s in siblings if s is not step and s.resolves != step.resolves]

    def _select(
        self, episode: Episode, world: World, history: list[Action], options: list[Action], errors: list[str]
    ) -> Action:
        """A single candidate is taken without a request; an answer outside the list is requested again with a note."""
        if len(options) == 1:
            return options[0]
        episode.tell("selecting")
        notes: list[str] = []
        for attempt in range(self.asked_again + 1):
            episode.questions += 1
            try:
                choice = episode.planner.select_action(
                    "blocking",
                    episode.sentence,
                    world,
                    history,
                    options,
                    goal=episode.goal,
                    errors=[*errors[-5:], *episode.feedback(), *notes],
                    task_id=episode.task_id,
                )
            except ParseError as error:
                notes = [f"{error}. Select only an action of the list."]
                if attempt == self.asked_again:
                    raise
                episode.spend(error.usage)
                continue
            episode.spend(choice.usage)
            episode.journal.add("selection", options=[str(o) for o in options], chosen=choice.index)
            return options[choice.index]
        raise AssertionError("unreachable")
