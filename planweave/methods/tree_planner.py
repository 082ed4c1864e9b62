"""Tree-Planner (Hu et al., "Tree-Planner: Efficient Close-loop Task Planning with LLMs", ICLR 2024).

Plan sampling (3.1) -> action tree (3.2) -> grounded deciding with error correction (3.3), and the three guided
variants of appendix C.5. Where the paper's code restores a snapshot of the simulator, this executes the declared
inverses: a robot has no snapshots.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from planweave.core.base.errors import ParseError, PlanweaveError
from planweave.core.base.failure import TRANSIENT
from planweave.core.base.parameter import option
from planweave.core.checks.error_types import plan_error
from planweave.core.checks.validation import Validation, Validator, achievers
from planweave.core.pddl.formula import conjuncts
from planweave.core.symbolic.plan import CountedPlan
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Known, Literal, World
from planweave.core.trees.action_tree import Status, TreeNode, build_tree
from planweave.core.workflow.ports import Outcome
from planweave.methods.language import paper_notation
from planweave.methods.language.paper_notation import NOTATIONS
from planweave.methods.language.prompting import PROMPTS, distinct
from planweave.methods.language.question import Questions
from planweave.methods.running.episode import Episode
from planweave.methods.running.options import PaperMode
from planweave.methods.running.undoing import undo

REQUEST, PAPER_WORDS = "tree_planner_request", "tree_planner_paper"
"""The sampling of plans that is never stepwise; the same, and decisions, in the notation of the paper."""
MOST_WRONG = 3
"""Plans that do not pass the check of which the model is told."""
_NOT_IN_VIEW = (Known.REMEMBERED, Known.INFERRED)
GUIDES = ("model", "language", "environment", "hybrid")


@dataclass
class TreePlanner(PaperMode):
    """samples: N plans (0: the planner's default); votes: n answers per decision (0: the planner's default).

    max_corrections as in the paper, 10. guide: decides at a fork, the model or one of appendix C.5's weights; alpha
    weighs language against environment in "hybrid". check_plans: keep only plans that reach the goal from the observed
    world according to the domain; the paper keeps all. Where there is none, plans are kept that reach it under
    assumptions about unobserved objects, and where there is none of these, plans that leave a goal literal to
    unobserved facts. retries: of an action that failed with one of `planweave.core.base.failure.TRANSIENT`.
    """

    questions: ClassVar[Questions] = Questions(
        sample={
            "tree_planner": PROMPTS / "tree_planner",
            REQUEST: PROMPTS / "tree_planner",
            PAPER_WORDS: paper_notation.FOLDER,
        }
    )
    PAPER: ClassVar[Mapping[str, Any]] = {
        "check_plans": False,
        "asked_again": 0,
        "skip_needless": False,
        "retries": 0,
        "merge_alike": False,
        "sampling": "request",
        "notation": "paper",
    }

    samples: int = option(0, "plans to sample, N; 0: the planner's default", 0, 1000)
    votes: int = option(0, "answers per decision, n; 0: the planner's default", 0, 1000)
    max_corrections: int = option(10, "error corrections at most", 0, 1000)
    guide: str = option("model", "who decides at a fork", choices=GUIDES)
    alpha: float = option(0.5, "weight of language against environment in the hybrid guide", 0.0, 1.0)
    check_plans: bool = option(True, "keep only sampled plans that the domain says reach the goal")
    merge_alike: bool = option(True, "of actions that change the world alike, only one is an option of a decision")
    sampling: str = option(
        "auto", "request: all plans in one request, whatever planner_node's sampling says", choices=("auto", "request")
    )
    asked_again: int = option(
        2, "with check_plans: requests for other plans, with what is wrong, until the goal is not seen to fail", 0, 10
    )
    skip_needless: bool = option(True, "a failed action counts as done where all that it would bring about is so")
    retries: int = option(1, "repetitions of an action that failed by chance, before its subtree is invalid", 0, 100)
    notation: str = option("calls", "of prompts: calls by schema, or the paper's", choices=NOTATIONS)

    @property
    def _words(self) -> str:
        return PAPER_WORDS if self.notation == "paper" else "tree_planner"

    def run(self, episode: Episode) -> None:
        """Act down the tree until a plan ends, or no valid branch or no correction is left. With check_plans other
        plans are then asked for, from the world as it is, as long as something is known to be wrong.
        """
        wrong: Sequence[str] = ()
        received = 0
        for attempt in range(1 + (self.asked_again if self.check_plans else 0)):
            episode.tell("sampling plans again" if attempt else "sampling plans")
            try:
                plans, more, faults = self._sample(episode, episode.observe(), wrong)
            except ParseError as error:
                if not attempt:
                    raise
                episode.journal.add("unreadable", message=str(error))
                return
            received += more
            if not plans:
                if more or not attempt:  # else there are no others, and what went wrong with these stays the message
                    episode.tell(message=f"none of the {received} sampled plans passes the check")
                if not more:
                    return
                wrong = faults
                continue
            node = episode.tree = build_tree(plans)
            wrong = self._descend(episode, node)
            if not wrong or episode.stopped:
                return

    def _sample(
        self, episode: Episode, world: World, wrong: Sequence[str]
    ) -> tuple[list[CountedPlan], int, Sequence[str]]:
        """The plans to act by, how many samples came, and the most frequent plans that do not pass, with the reason."""
        sampled = episode.planner.generate_plans(
            episode.sentence,
            world,
            samples=self.samples,
            errors=wrong,
            task_id=episode.task_id,
            method=self._words if self.sampling == "auto" or self.notation == "paper" else REQUEST,
        )
        episode.spend(sampled.usage)
        plans, wrong = self._checked(episode, world, sampled.plans)
        episode.journal.add(
            "sampled",
            received=sampled.received,
            dropped=sampled.dropped,
            mended=sampled.mended,
            distinct=len(sampled.plans),
            kept=len(plans),
        )
        return plans, sampled.received, wrong

    def _checked(
        self, episode: Episode, world: World, plans: Sequence[CountedPlan]
    ) -> tuple[list[CountedPlan], list[str]]:
        """Validate plans and record goal-condition recall (5.2); those that pass, and what is wrong with the others."""
        recall: list[float] = []
        checked: list[tuple[CountedPlan, Validation]] = []
        validator = Validator(episode.domain, world)
        for plan in plans:
            check = validator.check(plan.actions, episode.goal)
            share = 1 - len(check.goal_unmet) / len(episode.goal) if episode.goal else 1.0
            recall += [share] * plan.samples
            checked.append((plan, check))
            episode.journal.add(
                "plan",
                actions=[str(a) for a in plan.actions],
                samples=plan.samples,
                valid=check.ok,
                gcr=round(share, 4),
                message=check.message,
                error_type=plan_error(check),
                assumed=[str(x) for x in check.assumed],
                originals=[s.original for s in plan.steps if s.original],
            )
        if recall:
            episode.journal.add("gcr", max=round(max(recall), 4), avg=round(sum(recall) / len(recall), 4))
        wrong = [f"{', '.join(map(str, p.actions))}: {_fault(episode, c)}" for p, c in checked if not c.ok]
        return self._kept(episode, checked) if self.check_plans else list(plans), wrong[:MOST_WRONG]

    def _kept(self, episode: Episode, checked: Sequence[tuple[CountedPlan, Validation]]) -> list[CountedPlan]:
        """The plans with the weakest assumptions: none, facts about unobserved objects, or unobserved goal literals."""
        grades = [0 if c.ok and not c.assumed else 1 if c.ok else 2 if c.possible else 3 for _, c in checked]
        best = min(grades, default=3)
        if best == 3:
            return []
        kept = [row for row, grade in zip(checked, grades) if grade == best]
        assumed = sorted({str(x) for _, c in kept for x in (*c.assumed, *c.goal_open)})
        if assumed:
            episode.tell(message=f"no plan is sure; counting on what was not seen yet: {', '.join(assumed)}")
            episode.journal.add("assumed", literals=assumed)
        return [plan for plan, _ in kept]

    def _descend(self, episode: Episode, node: TreeNode) -> list[str]:
        """Grounded deciding (3.3) from a node downwards; what is wrong at the end, as far as it was seen."""
        history: list[tuple[TreeNode, World]] = []  # executed nodes on the current path, with the world before each
        done: list[tuple[Action, TreeNode]] = []  # what was executed and not undone, also on paths that were left
        errors: list[str] = []
        while True:
            options = node.valid_children()
            if not options:
                return _not_reached(episode, done)
            child = self._decide(episode, options, [action for action, _ in done], errors)
            if child.action is None:
                child.status = Status.DONE
                episode.tell("plan ended")
                return _not_reached(episode, done)
            before = episode.observe()
            child.status = Status.CURRENT
            outcome = self._execute(episode, child, child.action)
            if outcome.ok:
                child.status = Status.DONE
                history.append((child, before))
                done.append((child.action, child))
                errors.clear()
                node = child
                continue
            if self.skip_needless and _needless(episode, outcome.world, child.action):
                episode.journal.add("needless", action=str(child.action), message=outcome.message)
                child.status = Status.DONE
                node = child
                continue
            errors.append(f"{child.action}: {outcome.message}")
            child.status = Status.FAILED
            for below in child.children.values():
                below.invalidate()
            if outcome.final or episode.corrections >= self.max_corrections:
                episode.tell(message=f"no correction left after: {outcome.message}")
                return []
            episode.corrections += 1
            fork = self._backtrack(episode, node, history, done, errors)
            episode.journal.add(
                "correction",
                failed=str(child.action),
                code=outcome.code.name,
                message=outcome.message,
                back_to=str(fork.action) if fork else None,
            )
            if fork is None:
                episode.tell(message=f"no branch is left after: {outcome.message}")
                return errors
            node = fork

    def _execute(self, episode: Episode, node: TreeNode, action: Action) -> Outcome:
        """Execute a node's action; where it fails by chance and is still applicable again, at most `retries` times."""
        episode.intend(_likely(node))
        outcome = episode.execute(action)
        for _ in range(self.retries):
            transition = Transition(episode.domain, outcome.world)
            if outcome.code not in TRANSIENT or not transition.applicable(transition.state(), action):
                break
            episode.journal.add("retry", action=str(action), code=outcome.code.name, message=outcome.message)
            episode.intend(_likely(node))
            outcome = episode.execute(action)
        return outcome

    def _backtrack(
        self,
        episode: Episode,
        node: TreeNode,
        history: list[tuple[TreeNode, World]],
        done: list[tuple[Action, TreeNode]],
        errors: list[str],
    ) -> TreeNode | None:
        """Steps (i) to (iii) of error correction: the nearest fork with a valid child, actions above it undone.

        None where no valid branch is left; then nothing is undone, since no execution would follow. An action that
        cannot be undone stays in `done`, and an error says so.
        """
        fork: TreeNode | None = node
        while fork is not None and not fork.valid_children():
            if fork.parent is not None:
                fork.status = Status.INVALID
            fork = fork.parent
        if fork is None:
            return None
        episode.tell("backtracking")
        while history and history[-1][0] is not fork:
            undone, before = history.pop()
            assert undone.action is not None
            if problem := undo(episode, undone.action, before):
                errors.append(f"{undone.action} was done on the way and could not be undone: {problem}")
            else:
                undone.status = Status.UNDONE if undone.valid else undone.status
                done[:] = [row for row in done if row[1] is not undone]
        return fork

    def _decide(
        self, episode: Episode, options: list[TreeNode], history: Sequence[Action], errors: Sequence[str]
    ) -> TreeNode:
        """A single valid child is taken without a request; else the model votes, or the weights of C.5 decide.

        With merge_alike, of children whose actions change the world alike only the one that most plans have is an
        option.
        """
        if self.merge_alike:
            kept = set(distinct(episode.domain, episode.observe(), [o.action for o in options]))
            options = [o for o in options if o.action in kept]
        if len(options) == 1:
            return options[0]
        if self.guide != "model":
            weights = self._weights(episode.observe(), options)
            episode.journal.add(
                "weighed",
                guide=self.guide,
                options=[str(o.action) for o in options],
                weights=[round(w, 4) for w in weights],
            )
            return options[max(range(len(options)), key=lambda i: weights[i])]
        episode.tell("deciding")
        episode.questions += 1
        choice = episode.planner.choose_action(
            episode.sentence,
            episode.observe(),
            history,
            [o.action for o in options],
            errors=errors,
            samples=self.votes,
            task_id=episode.task_id,
            method=self._words,
        )
        episode.spend(choice.usage)
        episode.journal.add(
            "decision",
            options=[str(o.action) if o.action else "[END]" for o in options],
            votes=list(choice.votes),
            unreadable=choice.unreadable,
            chosen=choice.index,
        )
        return options[choice.index]

    def _weights(self, world: World, options: Sequence[TreeNode]) -> list[float]:
        """Evaluation functions f_L, f_E and f_Hybrid of appendix C.5."""
        likelihoods = [o.logprob if o.logprob is not None else math.log(o.samples) for o in options]
        language = _softmax(likelihoods)
        environment = _softmax([float(o.action is None or all(map(world.observable, o.action.args))) for o in options])
        if self.guide == "language":
            return language
        if self.guide == "environment":
            return environment
        return [self.alpha * f + (1 - self.alpha) * e for f, e in zip(language, environment)]


def _fault(episode: Episode, check: Validation) -> str:
    """What is wrong with a plan; goal literals that may hold, since nobody has looked, are left out."""
    if check.failed_step is not None or not check.goal_unmet:
        return check.message
    missing = [x for x in check.goal_unmet if x not in check.goal_open]
    return f"in the end it is not so that {episode.domain.phrases(missing)}"


def _not_reached(episode: Episode, done: Sequence[tuple[Action, TreeNode]]) -> list[str]:
    """Goal literals that are seen not to hold after what was done, as an error; not those that it brought about of
    things that are out of view.
    """
    world = episode.observe()
    check = Validator(episode.domain, world).check((), episode.goal)
    missing = [x for x in check.goal_unmet if x not in check.goal_open and not _out_of_view(episode, world, x, done)]
    if not missing:
        return []
    return [f"{', '.join(str(a) for a, _ in done)}: done, but now it is not so that {episode.domain.phrases(missing)}"]


def _out_of_view(episode: Episode, world: World, literal: Literal, done: Sequence[tuple[Action, TreeNode]]) -> bool:
    """Whether something done should have brought a literal about, and one of its objects is out of view now."""
    if not any(a in world.by_name and world.by_name[a].known in _NOT_IN_VIEW for a in literal.args):
        return False
    able = achievers(episode.domain, literal)
    return any(action.name in able and set(literal.args) <= set(action.args) for action, _ in done)


def _needless(episode: Episode, world: World, action: Action) -> bool:
    """Whether all that an action would bring about is so already: what is on need not be switched on."""
    effects = [e for e in episode.domain.actions[action.name].effects if not e.variables and not conjuncts(e.condition)]
    transition = Transition(episode.domain, world)
    try:
        change = transition.apply(transition.state(), action)
    except PlanweaveError:  # an object is gone
        return False
    return any(e.add for e in effects) and not change.added and not change.deleted


def _likely(node: TreeNode) -> list[Action]:
    """The plan that most samples follow from a node downwards, the node's action first."""
    plan = []
    while node.action is not None:
        plan.append(node.action)
        below = node.valid_children()
        if not below:
            break
        node = max(below, key=lambda child: child.samples)
    return plan


def _softmax(values: Sequence[float]) -> list[float]:
    top = max(values)
    powers = [math.exp(v - top) for v in values]
    total = sum(powers)
    return [p / total for p in powers]
