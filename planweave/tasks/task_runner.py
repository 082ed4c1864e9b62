"""One task from its sentence to its verified goal: read, plan or act, and look whether the goal holds."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from planweave.core.base.errors import (
    CanceledError,
    GoalError,
    NoModelError,
    NotStoppedError,
    PlanRefusedError,
    PlanweaveError,
    SystemDownError,
    UnknownNameError,
)
from planweave.core.base.names import log_line
from planweave.core.base.usage import Usage
from planweave.core.planning.rule_conflicts import goal_conflict
from planweave.core.planning.solver import NoPlanError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.rule_check import keeping, ruled
from planweave.core.symbolic.world import Literal, World
from planweave.core.workflow.confirmation import GoalCheck, confirm
from planweave.core.workflow.ports import LookingBody, Planner
from planweave.core.workflow.question import AmbiguityError, UserQuestion
from planweave.core.workflow.reading import Reading, as_texts
from planweave.core.workflow.task_status import TaskState
from planweave.core.workflow.wrapped_body import CompletedBody, WrappedBody
from planweave.goals import checked_given, checked_goal, naming_question, understood
from planweave.methods.running.episode import Episode
from planweave.methods.running.method_run import Method, MethodFaultError, run_method
from planweave.methods.running.recorded_body import RecordedBody
from planweave.tasks.after_pause import Resumed
from planweave.tasks.answers import ask
from planweave.tasks.approving import ApprovedBody
from planweave.tasks.dry_run import PredictedBody
from planweave.tasks.given_tree import GivenTree
from planweave.tasks.last_looks import LastLooks
from planweave.tasks.memory import Memory
from planweave.tasks.pausing import BETWEEN_LOOKS, PausedWait, PauseGate, ResumedBody
from planweave.tasks.task import Task
from planweave.tasks.task_store import logged_loss

MODEL_FREE = "classical"
_RECALLED = "as it was answered before: planweave memory"
_REFUSALS = 3  # that are told, the newest ones
_UNSURE = 5.0  # s of looks at what does not become sure
_RESUME = 10.0  # s; a busy machine may take that long for two images
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TaskRunner:
    """The runner of tasks; one for all tasks of a manager.

    make: factory of methods by name. fallback: name of the method that takes over where the chosen one did not reach
    the goal, "" for none. observation_timeout: s for a fresh look. await_body(on_wait): returns once the
    body reports its world. look_for(sentence): sets the queries of open-vocabulary detectors. changed(task): called at
    every change; end(task, state, message, code): ends it; set_aside(task): what it waits in for an answer.
    namespace: of the body, for service names in messages. load_domain: returns a world's domain.
    """

    planner: Planner
    body: CompletedBody
    make: Callable[[str], Method]
    changed: Callable[[Task], None]
    end: Callable[..., None]
    set_aside: Callable[[Task], AbstractContextManager[None]]
    fallback: str = MODEL_FREE
    action_timeout: float = 60.0
    observation_timeout: float = 10.0
    await_body: Callable[[Callable[[str], None]], None] = lambda on_wait: None
    look_for: Callable[[str], str] = lambda sentence: ""
    namespace: str = ""
    load_domain: Callable[[str], Domain] = Domain.load
    memory: Memory = field(default_factory=Memory)
    spoken_of: Callable[[Task], Sequence[str]] = lambda task: ()

    @property
    def resume_seconds(self) -> float:
        """Time for the look before a paused task goes on; a person who is refused would only ask again, s."""
        return max(_RESUME, self.observation_timeout)

    def run(self, task: Task) -> None:
        """Run one task from its sentence to its verified goal. Whatever happens, it ends in a final state."""
        task.started = time.monotonic()
        log.info(
            "%s begins (%s%s): %s",
            task.status.task_id,
            task.status.method,
            ", dry run" if task.status.dry_run else "",
            log_line(task.status.sentence or task.asked.goal),
        )
        self._set(task, state=TaskState.RUNNING, phase="looking")
        try:
            world, read = self._begin(task)
            if read.answer:
                self.end(task, TaskState.ANSWERED, f"answered: {read.answer}")
                return
            run = self._keeping(read.keep, world)
            goals = (*read.before, read.goal)
            for goal in goals:
                run._heed_rules(task, world, goal)
            predicted = PredictedBody(run.load_domain(world.domain), world) if task.status.dry_run else None
            acting = run.body.since(world)
            body: LookingBody = predicted or acting
            run = run if predicted else replace(run, body=acting)
            for number, goal in enumerate(read.before, 1):  # each is verified before the next
                words = run.load_domain(world.domain).phrases(goal)
                run._set(task, unmet=world.with_derived(goal).unmet(goal))
                check, message = run._act(task, world, goal, body, words)
                if not check.confirmed:
                    run._conclude(task, check, message, f"step {number} of {len(goals)} ({words}): ")
                    return
                task.journal.add("step_reached", number=number, goal=[str(g) for g in goal])
                run._set(task, reached=number)
                world = body.observe()
                acting.begin_anew(world, {*goals[number]} - {g for reached in goals[:number] for g in reached})
            check, message = run._act(task, world, read.goal, body)
            if predicted is not None:
                run._conclude_plan(task, predicted, read.goal, message)
            else:
                run._conclude(task, check, message)
        except PlanweaveError as error:
            self._failed(task, error)
        except Exception as error:
            log.exception("task %s", task.status.task_id)
            message = f"internal error ({type(error).__name__}: {error}); see the log"
            self.end(task, TaskState.FAILED, message, "internal")

    def _begin(self, task: Task) -> tuple[World, Reading]:
        """Read the sentence once there is a body; the world that it was read in, and the goal or the answer."""
        task.canceled.check()
        self._wait_while_paused(task)
        if (task.given_tree or (task.given and task.given.before)) and task.moved_before:
            what = "a given tree is" if task.given_tree else "states in order are"
            raise GoalError(f"{task.status.message}; {what} not followed from the middle: send it anew")
        self._await_body(task)
        self._look_for(task)
        world, read = self._understand(task)
        if self._wait_while_paused(task) is not None:
            world = self.body.observe()
        if read.answer:
            self._set(task, goal_source=read.source, understood=read.understood, answer=read.answer)
            task.journal.add("answer", answer=read.answer, understood=read.understood, source=read.source)
            return world, read
        world = world.with_derived(read.goal)
        self._set(
            task,
            goal=read.goal,
            before=read.before,
            keep=read.keep,
            goal_source=read.source,
            understood=read.understood,
            unmet=world.unmet(read.goal),
        )
        task.journal.add(
            "goal",
            domain=world.domain,
            **as_texts(read),
            source=read.source,
            understood=read.understood,
            facts=[str(f) for f in sorted(world.facts)],
        )
        return world, read

    def _failed(self, task: Task, error: PlanweaveError) -> None:
        """End a task that an error has ended; one that was cancelled meanwhile, and whose body stands, as cancelled."""
        self._set(task, usage=task.status.usage + (error.usage or Usage()))
        if task.canceled.is_set and not task.acts and not isinstance(error, CanceledError):
            error = CanceledError(f"{task.canceled.reason}; {error}")
        if isinstance(error, PlanRefusedError):
            self._learn_refusal(task, error)
        if isinstance(error, GoalError) and error.not_covered:
            task.journal.add("not_covered", words=[*error.not_covered])
        self._see_unmet(task)
        stands = isinstance(error, CanceledError) and not isinstance(error, NotStoppedError)
        self.end(task, TaskState.CANCELED if stands else TaskState.FAILED, str(error) or "cancelled", error.code)

    def _keeping(self, keep: tuple[Literal, ...], world: World) -> TaskRunner:
        """The same run under the rules that no action may end these literals; raises GoalError where one does not hold
        now.
        """
        if not keep:
            return self
        domain = self.load_domain(world.domain)
        if gone := world.unmet(keep):
            now = domain.phrases(g.negated() for g in gone)
            raise GoalError(f"{now}, so that it cannot be kept as it is asked; say first how it should be")
        rules = (*domain.rules, *(keeping(domain, literal) for literal in keep))
        return replace(self, load_domain=lambda name: ruled(self.load_domain(name), rules))

    def _await_body(self, task: Task) -> None:
        """Wait for a body that reports its world, and tell so while there is none."""
        before = task.status
        self.await_body(lambda message: self._set(task, phase="waiting for the body", message=message))
        if task.status is not before:
            self._set(task, phase=before.phase, message=before.message)

    def _look_for(self, task: Task) -> None:
        """Let detectors look for what the task names, and the body look at what was found; another task may have set
        them to its own meanwhile.
        """
        looked = self.look_for(task.answers.sentence or task.status.sentence)
        if looked:
            task.journal.add("looked_for", answer=looked)
            self.body.look(self.observation_timeout)

    def _understand(self, task: Task) -> tuple[World, Reading]:
        """The goal, and the world it was interpreted in; a person is asked where the sentence is not clear."""
        world = self.body.observe(task.asked.world_revision)
        while True:
            try:
                world, read = self._understand_alone(task, world)
                if task.answers.recalled:
                    read = replace(read, understood=f"{read.understood} ({_RECALLED})")
                return world, read
            except AmbiguityError as error:
                ask(
                    task,
                    error,
                    self.load_domain(world.domain),
                    self.body.observe,
                    self.set_aside(task),
                    self.memory,
                )
                self._look_for(task)
                world = self.body.observe()  # it may have changed while a person thought

    def _understand_alone(self, task: Task, world: World) -> tuple[World, Reading]:
        """The goal, and the world it was interpreted in.

        Before a task is refused, or a person asked, because of a missing object, a fresh look is taken: perception may
        just have been reset or restarted.
        """
        try:
            return world, self._read(task, world)
        except (GoalError, UnknownNameError):
            if world.silent:
                raise
            look = self.body.look(self.observation_timeout)
            if not look.fresh or look.world.by_name.keys() == world.by_name.keys():
                raise
        return look.world, self._read(task, look.world)

    def _read(self, task: Task, world: World) -> Reading:
        """The goal, given or interpreted, as literals and in words; or the answer to a question."""
        domain = self.load_domain(world.domain)
        if task.given:
            return checked_given(domain, world, task.given)
        self._set(task, phase="interpreting the goal")
        answers = task.answers
        if chosen := answers.reading:
            goal, *before = (checked_goal(domain, world, step) for step in (chosen.goal, *chosen.before))
            words = understood(domain, world, goal, ("chosen by a person",), before, chosen.keep)
            return replace(chosen, goal=goal, before=tuple(before), understood=words)
        sentence = answers.sentence or task.status.sentence
        named = naming_question(domain, world, sentence, self.spoken_of(task), answers.clarifications)
        if named is not None:
            return self._name(task, world, sentence, named)
        names = self.memory.names(sentence, world)
        told = (*answers.clarifications, *names.values())
        read = self.planner.interpret_goal(sentence, world, clarifications=told, task_id=task.status.task_id)
        task.answers = task.answers.recalling(names)
        self._set(task, usage=task.status.usage + read.usage)
        if not read.goal and not read.answer:
            raise GoalError("the sentence contains no goal; say what should be where in the end")
        return replace(read, understood=read.understood or domain.phrases(read.goal))

    def _name(self, task: Task, world: World, sentence: str, named: UserQuestion) -> Reading:
        """Remember the name that a sentence gives to the one thing that is meant; a person's answer is remembered."""
        if not task.answers.entries:
            task.answers = replace(task.answers, entries=(self.memory.learn(sentence, named, 0, "", world),))
        (choice,) = named.choices
        return Reading((), "grammar", answer=f"{choice.label} is called {named.phrase!r} from now on")

    def _heed_rules(self, task: Task, world: World, goal: tuple[Literal, ...]) -> None:
        """Record the rules in force; raise GoalError where they put the goal out of reach."""
        domain = self.load_domain(world.domain)
        if not domain.rules:
            return
        task.journal.add("rules", rules=[rule.text for rule in domain.rules])
        self._set(task, phase="checking the rules")
        if why := goal_conflict(domain, world, goal):
            raise GoalError(why)

    def _conclude_plan(self, task: Task, body: PredictedBody, goal: tuple[Literal, ...], message: str) -> None:
        """End a dry run, whose method has acted on a predicted body, with the plan or with why there is none."""
        domain = self.load_domain(body.observe().domain)
        check = body.check(goal)
        task.journal.add("planned", plan=[str(a) for a in body.done], ok=check.ok, check=check.message)
        self._set(
            task,
            plan=body.done,
            plan_words=tuple(map(domain.phrase, body.done)),
            plan_check=check.message,
            unmet=check.goal_unmet,
        )
        if check.ok:
            steps = f"{len(body.done)} steps reach the goal, as predicted" if body.done else "the goal holds already"
            self.end(task, TaskState.PLANNED, f"{steps}; a dry run, nothing was moved")
        else:
            self.end(
                task,
                TaskState.FAILED,
                f"no plan was found that reaches the goal: {message or check.message}; a dry run, nothing was moved",
                _failure_code(task),
            )

    def _act(
        self,
        task: Task,
        world: World,
        goal: tuple[Literal, ...],
        body: LookingBody,
        sentence: str = "",
    ) -> tuple[GoalCheck, str]:
        """Run the method, then the fallback where the goal does not hold; returns the final check of the goal and notes
        for the person. Executes nothing where the goal holds already, or where the result could not be observed.

        sentence: what planners are told, by default the task's.
        """
        began = world.stamp
        if world.silent or not world.unmet(goal):
            check = self._look_at(task, body, goal, began)
            if not check.unmet or (check.not_confirmed and not check.look.fresh):
                return check, "nothing was moved" if check.not_confirmed else "it held already, nothing was moved"
        so_far = task.episode
        if so_far is None:
            self._tell_refusals(task, goal)
        counted = ("usage", "steps", "executed", "corrections", "questions", "pushed")
        episode = task.episode = Episode(
            task.status.task_id,
            sentence or task.answers.told(task.status.sentence),
            goal,
            self.load_domain(world.domain),
            self.planner,
            body,
            task.journal,
            task.canceled,
            lambda: self.changed(task),
            dry_run=task.status.dry_run,
            said=task.said,
            namespace=self.namespace,
            **({name: getattr(so_far, name) for name in counted} if so_far is not None else {}),
        )
        episode.acting = self._acting(task, episode)
        looks = LastLooks(task, episode, goal, lambda: self._look_at(task, body, goal, began))
        name, failed = task.status.method, ""
        try:
            run_method((lambda _: GivenTree(tree)) if (tree := task.given_tree) else self.make, name, episode)
        except (CanceledError, MethodFaultError):
            raise
        except PlanweaveError as error:
            by_default = isinstance(error, NoModelError) and not task.named
            if not (self.fallback or by_default) or name == self.fallback or episode.alone or episode.stopped:
                if looks.near and (check := looks.take(self._look_at(task, body, goal, began))).confirmed:
                    return check, ""  # what was lost to view is where it shall be
                raise
            episode.spend(error.usage)
            task.journal.add("method_failed", method=name, error=str(error), kind=type(error).__name__)
            if by_default:
                name = self._without_model(task, episode, str(error))
            else:
                failed = f"{name} failed: {error}"
                log.warning("%s: %s", task.status.task_id, failed)
        check = self._look_at(task, body, goal, began)
        denied = check.unmet and not check.not_confirmed
        if name == MODEL_FREE and denied and not (episode.message or episode.alone or episode.stopped):
            # The method has seen the goal hold, as far as the newest image showed: now it does not.
            run_method(self.make, name, episode)
            check = self._look_at(task, body, goal, began)
        if self.fallback and name != self.fallback and check.unmet and not (episode.alone or episode.stopped):
            self._fall_back(task, episode, name, failed)
            check = self._look_at(task, body, goal, began)
        return looks.take(check), episode.message

    def _fall_back(self, task: Task, episode: Episode, name: str, failed: str) -> None:
        """Run the fallback method after the one of a name. failed: that it failed, and why."""
        reason = failed or episode.message or f"{name} ended before the goal held"
        told = f"the {self.fallback} planner takes over: {reason}"
        episode.fallback, episode.trouble = True, None
        episode.tell("planning", told)
        task.journal.add("fallback", method=self.fallback, reason=reason)
        try:
            run_method(self.make, self.fallback, episode)
        except NoPlanError as error:  # it does not say why the method before it failed
            raise NoPlanError(f"{error}; before that: {reason}", error.proved) from None
        if episode.message == told:  # nothing was reported since; an error of the method is kept
            episode.message = f"{failed + '; ' if failed else ''}the {self.fallback} planner took over"

    def _acting(self, task: Task, episode: Episode) -> ResumedBody:
        """The episode's body with what decides round it before an action, and after it: outermost first a pause, then
        approval and another look whether it is paused, as it may be while somebody reads the plan, and the record.
        """

        def wait() -> Resumed | None:
            return self._wait_while_paused(task)

        body: WrappedBody = RecordedBody(episode.body, episode, task.pause, self.action_timeout)
        if task.approval is not None:
            gate = PauseGate(body, task, episode, wait)
            body = ApprovedBody(gate, episode, task.approval, lambda: self._seen_now(episode.body))
        return ResumedBody(body, task, episode, wait)

    def _seen_now(self, body: LookingBody) -> World:
        """The world as a look shows it that begins now; raises SystemDownError where it shows an older one."""
        look = body.look(self.observation_timeout)
        if not look.fresh:
            raise SystemDownError(f"whether things are as they were shown is not known: {look.message}")
        return look.world

    def _without_model(self, task: Task, episode: Episode, reason: str) -> str:
        """Plan with the method that asks no model, which is the default where none is set that can be asked; its name.

        The task says so once, whatever else it says in the end.
        """
        told = f"planned with {MODEL_FREE}: {reason}"
        self._set(task, method=MODEL_FREE)
        episode.tell("planning", told)
        run_method(self.make, MODEL_FREE, episode)
        if episode.message != told:
            episode.message = f"{episode.message}; {told}"
        return MODEL_FREE

    def _wait_while_paused(self, task: Task) -> Resumed | None:
        return PausedWait(self.body, self.resume_seconds, self.changed, self.load_domain).wait(task)

    def _look_at(self, task: Task, body: LookingBody, goal: tuple[Literal, ...], began: float) -> GoalCheck:
        """The check of a goal that no pause came into."""
        while True:
            self._wait_while_paused(task)
            check = self._look_until_sure(task, body, goal, began)
            if not task.pause.is_set:
                return check

    def _look_until_sure(self, task: Task, body: LookingBody, goal: tuple[Literal, ...], began: float) -> GoalCheck:
        """Look until the goal is confirmed, two looks contradict it, or the time is over.

        Every look begins after all motion has ended, so that predicted effects play no part.
        """
        phase = "checking the plan" if task.status.dry_run else "confirming the goal"
        if task.episode is not None:
            task.episode.tell(phase)
        else:
            self._set(task, phase=phase)
        deadline = time.monotonic() + self.observation_timeout
        unmet, check = 0, None
        while True:
            task.canceled.check()
            begun = time.monotonic()
            look = body.look(max(0.0, deadline - begun))
            if check is None:
                deadline = min(deadline, time.monotonic() + _UNSURE)
            elif not look.fresh:  # what the looks before have shown says more
                break
            check = confirm(look, goal, began)
            unmet = unmet + 1 if check.unmet else 0
            if check.confirmed or unmet >= 2 or not look.fresh or time.monotonic() >= deadline:
                break
            time.sleep(max(0.0, begun + BETWEEN_LOOKS - time.monotonic()))  # where a body sees at any time
        world = check.look.world.with_derived(goal)
        known = {str(g): (k := world.knowledge(g)).how.name.lower() + (f" ({k.of})" if k.of else "") for g in goal}
        task.journal.add(
            "checked",
            fresh=check.look.fresh,
            stamp=world.stamp,
            unmet=[str(u) for u in check.unmet],
            known=known,
            not_confirmed=list(check.not_confirmed),
            inferred=list(check.inferred),
            facts=[str(f) for f in sorted(world.facts)],
        )
        self._set(task, unmet=check.unmet)
        return check

    def _conclude(self, task: Task, check: GoalCheck, message: str, step: str = "") -> None:
        """Set the final state; success requires the goal to hold in a look that began after all motion had ended, and
        then stands though the task is cancelled. step: the state to be reached first, where it was not.
        """
        if check.confirmed:
            seen = ["the goal holds, as observed", *check.inferred, message]
            self.end(task, TaskState.SUCCEEDED, "; ".join(filter(None, seen)))
            return
        task.canceled.check()
        if set(check.unmet) - set(check.unseen) and (check.look.fresh or task.episode is not None):
            domain = self.load_domain(check.look.world.domain)
            missing = "; ".join(domain.phrase(u.negated()) for u in check.unmet)
            blind = "" if check.look.fresh else "; ".join(check.not_confirmed)
            self.end(
                task, TaskState.FAILED, step + ". ".join(filter(None, [missing, message, blind])), _failure_code(task)
            )
        else:
            why = "; ".join(check.not_confirmed)
            what = "holds" if check.unmet else "was reached"  # as last known it does not hold; it does, but unseen
            self.end(
                task,
                TaskState.NOT_CONFIRMED,
                f"{step}not confirmed that the goal {what}: {why}" + (f" ({message})" if message else ""),
                "not_confirmed",
            )

    def _learn_refusal(self, task: Task, error: PlanRefusedError) -> None:
        """Forget the answers of the task, since what was understood may be why, and keep the reason."""
        with logged_loss(task.status.task_id):
            self.memory.forget(task.answers.entries)
            if error.reason:
                status = task.status
                self.memory.learn_refusal(status.sentence, status.goal, error.plan, error.reason, error.person)

    def _tell_refusals(self, task: Task, goal: tuple[Literal, ...]) -> None:
        """Tell the planner, and who approves its plans, why plans for this goal were refused before."""
        notes = tuple(
            f"refused before{f' by {entry.person}' if entry.person else ''}: {entry.question}: {entry.choice}"
            for entry in self.memory.refusals(goal)[-_REFUSALS:]
        )
        if notes:
            task.journal.add("refused_before", notes=list(notes))
            task.said.extend(notes)
            if task.approval is not None:
                task.approval.notes = notes

    def _see_unmet(self, task: Task) -> None:
        """Record the unmet goal literals of the newest world, for a task that ends without a check of its goal."""
        if task.status.goal and not task.status.dry_run:
            with contextlib.suppress(PlanweaveError):
                self._set(task, unmet=self.body.observe().with_derived(task.status.goal).unmet(task.status.goal))

    def _set(self, task: Task, **fields: object) -> None:
        task.status = replace(task.status, **fields)  # type: ignore[arg-type]
        self.changed(task)


def _failure_code(task: Task) -> str:
    """Why a task failed whose goal does not hold: as its last action failed, or as that one did not bring it about."""
    failed = task.episode.failed if task.episode is not None else None
    return failed.code.word if failed is not None else "not_reached"
