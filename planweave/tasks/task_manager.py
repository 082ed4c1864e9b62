"""Task manager: a queue, one worker thread, and the life cycle of a task from its sentence to its verified goal."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from planweave.core.approval import Approval
from planweave.core.behaviour_tree_xml import MAX_CHARACTERS
from planweave.core.budget import Usage
from planweave.core.confirmation import GoalCheck, confirm
from planweave.core.domain import Domain
from planweave.core.errors import CanceledError, GoalError, PlanweaveError, UnknownNameError
from planweave.core.ports import Interpretation, LookingBody, Planner
from planweave.core.rule_conflicts import goal_conflict
from planweave.core.task import TaskState, TaskStatus
from planweave.core.world import Action, Literal, World
from planweave.methods import METHODS
from planweave.methods.episode import Episode
from planweave.methods.journal import Journal
from planweave.methods.method_run import Method as Method
from planweave.methods.method_run import MethodFaultError, run_method
from planweave.tasks.dry_run import PredictedBody
from planweave.tasks.given_tree import GIVEN, GivenTree, is_tree
from planweave.tasks.interruption import Interruption
from planweave.tasks.plain_text import log_line, plain
from planweave.tasks.task import Task as Task
from planweave.tasks.task_store import Kept, TaskStore, logged_loss

MAX_APPROVER = 200
_BETWEEN_LOOKS = 0.2  # s
MAX_REQUEST_ID = 100
_REMEMBERED = 10_000  # ids of tasks that were dropped
log = logging.getLogger(__name__)


class TaskManager:
    """Accepts tasks at any time and runs one at a time in its own thread.

    make: factory of methods by name. fallback: name of the method that takes over where the chosen one did not reach
    the goal, "" for none. approval_timeout: seconds that a person has to approve a plan before it moves anything, 0
    where no approval is required. look_seconds: time for the body to confirm the goal. await_body(on_wait): returns
    once the body reports its world. look_for(sentence): sets the queries of open-vocabulary detectors. on_change(task):
    called at every change; on_end(task): at the end. kept_tasks: number of ended tasks that remain available.
    store: keeps tasks and their records, for `take_up` in a later process. namespace: of the body, for service names in
    messages. load_domain: returns a world's domain.
    """

    def __init__(
        self,
        planner: Planner,
        body: LookingBody,
        make: Callable[[str], Method],
        *,
        default_method: str = "tree_planner",
        fallback: str = "classical",
        action_timeout: float = 60.0,
        max_queue: int = 50,
        kept_tasks: int = 200,
        journal_folder: Path | None = None,
        approval_timeout: float = 0.0,
        approved_alone: Collection[str] = (),
        look_seconds: float = 5.0,
        await_body: Callable[[Callable[[str], None]], None] = lambda on_wait: None,
        look_for: Callable[[str], str] = lambda sentence: "",
        on_change: Callable[[Task], None] = lambda task: None,
        on_end: Callable[[Task], None] = lambda task: None,
        namespace: str = "",
        load_domain: Callable[[str], Domain] = Domain.load,
        store: TaskStore | None = None,
    ):
        self._planner, self._body, self._make = planner, body, make
        self._default_method, self._fallback = default_method, fallback
        self._action_timeout, self._max_queue = action_timeout, max_queue
        self._journal_folder, self._on_change, self._on_end = journal_folder, on_change, on_end
        self._approval_timeout, self._look_for, self._look_seconds = approval_timeout, look_for, look_seconds
        self._approved_alone = approved_alone
        self._await_body, self._namespace, self._load_domain = await_body, namespace, load_domain
        self._kept_tasks, self._store = kept_tasks, store
        self._tasks: dict[str, Task] = {}
        self._requests: dict[str, Task] = {}  # by the id that their sender gave
        self._dropped: deque[str] = deque(maxlen=_REMEMBERED)
        self._queue: list[Task] = []
        self._running: Task | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._numbers = itertools.count(store.last_number() + 1 if store else 1)
        self._worker = threading.Thread(target=self._work, name="tasks", daemon=True)
        self._worker.start()

    def submit(
        self,
        sentence: str,
        method: str = "",
        goal: Sequence[Literal] = (),
        world_revision: int = 0,
        request_id: str = "",
        dry_run: bool = False,
    ) -> Task:
        """Queue a task; raises GoalError or UnknownNameError where it cannot be accepted.

        It starts from a world of at least `world_revision`, so that it includes changes its sender has seen. A repeated
        request with the same non-empty id returns the first task. In a dry run the method plans against predicted
        effects; nothing moves. `method`: a name, or a behaviour tree in XML, which is followed
        (planweave.tasks.given_tree).
        """
        sentence, method = plain(sentence, "sentence"), method or self._default_method
        tree = method if is_tree(method) else ""
        method = GIVEN if tree else method
        if len(tree) > MAX_CHARACTERS:
            raise GoalError(f"the tree has {len(tree)} characters; at most {MAX_CHARACTERS} are read")
        if not sentence and not goal:
            raise GoalError("the sentence is empty: say what to do, e.g. 'put the red cube in the left tray'")
        if not tree and method not in METHODS:
            raise UnknownNameError("method", method, METHODS)
        if len(request_id) > MAX_REQUEST_ID:
            raise GoalError(f"the request id has {len(request_id)} characters; at most {MAX_REQUEST_ID} are read")
        with self._changed:
            earlier = self._requests.get(request_id) if request_id else None
            if earlier is not None:
                status = earlier.status
                if (status.sentence, status.method, earlier.given_tree, earlier.given_goal, status.dry_run) != (
                    sentence,
                    method,
                    tree,
                    tuple(goal),
                    dry_run,
                ):
                    raise GoalError(
                        f"the request id {request_id!r} is that of {status.task_id}, another task; give "
                        "every task an id of its own"
                    )
                return earlier
            if len(self._queue) >= self._max_queue:
                raise GoalError(f"{self._max_queue} tasks are queued already; cancel one or try again later")
            number = next(self._numbers)
            task_id = f"task-{number}-{int(time.time()) % 1_000_000}"
            status = TaskStatus(task_id, sentence, method, dry_run=dry_run)
            journal = self._journal(task_id)
            with self._store.together() if self._store else contextlib.nullcontext():
                if self._store is not None:
                    self._store.accept(number, status, request_id, tree, goal)
                journal.add(
                    "submitted",
                    sentence=sentence,
                    method=method,
                    goal=[str(g) for g in goal],
                    **({"tree": tree} if tree else {}),
                    **({"dry_run": True} if dry_run else {}),
                )
            task = Task(status, tuple(goal), journal, tree, world_revision, self._approval(status, 0.0))
            self._tasks[task_id] = task
            if request_id:
                self._requests[request_id] = task
            self._on_change(task)  # that it is queued is told before it can begin
            self._queue.append(task)
            self._changed.notify_all()
        return task

    def _journal(self, task_id: str, lines: Sequence[str] = ()) -> Journal:
        """The record of a task, with its events so far."""
        path = self._journal_folder / f"{task_id}.jsonl" if self._journal_folder else None
        return Journal(path, partial(self._store.add, task_id) if self._store else None, lines)

    def _approval(self, status: TaskStatus, at_least: float) -> Approval | None:
        """The gate of a task whose plans a person approves. at_least: s for that also where no approval is required."""
        seconds = max(self._approval_timeout, at_least)
        return Approval(status.task_id, seconds, self._approved_alone) if seconds > 0 and not status.dry_run else None

    def take_up(self, ask_seconds: float = 0.0) -> None:
        """Take up the stored tasks of a process that is gone: ended ones as they are, the others are queued.

        ask_seconds: time that a person has to approve each plan with which an interrupted task goes on; 0: nobody is
        asked because of that.
        """
        with self._changed:
            for kept in self._store.tasks() if self._store else ():
                task = self._taken_up(kept, ask_seconds)
                self._tasks[task.status.task_id] = task
                if kept.request_id:
                    self._requests[kept.request_id] = task
                if not kept.status.state.ended:
                    self._on_change(task)
                    self._queue.append(task)
            self._changed.notify_all()
        self._forget_old()

    def _taken_up(self, kept: Kept, ask_seconds: float) -> Task:
        """A stored task. One that was interrupted goes on to the goal that was understood, from the world as it is."""
        status = kept.status
        if status.state.ended:
            task = Task(status, kept.goal, Journal(lines=kept.lines), kept.tree, ending=True)
            task.journal.close()
            task.ended.set()
            return task
        found = Interruption.of(kept)
        journal = self._journal(status.task_id, kept.lines)
        approval = self._approval(status, ask_seconds if found.moved else 0.0)
        task = Task(status, kept.goal, journal, kept.tree, approval=approval, known_goal=found.goal)
        if found.began:
            log.warning("%s: %s", status.task_id, found.message)
            journal.add("interrupted", done=list(found.done), under_way=found.under_way, message=found.message)
            task.status = replace(status, message=found.message)
            task.moved_before = found.moved
            task.said.extend([found.message] if found.moved else [])
        return task

    def cancel(self, task_id: str = "") -> Task:
        """Cancel a queued or running task (the running one where no id is given); raises GoalError if it ended."""
        with self._changed:
            task = self._going_on(task_id, "no task is running")
            queued = task in self._queue
            if queued:
                self._queue.remove(task)
        task.canceled.cancel("cancelled by request")
        if queued:
            self._end(task, TaskState.CANCELED, "cancelled before it started")
        return task

    def say(self, task_id: str, text: str) -> Task:
        """Pass a person's feedback to a running task (the running one where no id is given); raises GoalError.

        Methods that replan from text treat it as an error message; it is recorded in any case.
        """
        text = plain(text, "text")
        if not text:
            raise GoalError("the text is empty: say what went wrong or what to do, e.g. 'the mug is too hot to touch'")
        with self._changed:
            task = self._going_on(task_id, "no task is running that could receive feedback")
            task.journal.add("said", text=text)
            task.said.append(text)
        return task

    def _going_on(self, task_id: str, none: str) -> Task:
        """A task that has not ended; the running one where no id is given. Raises GoalError or UnknownNameError."""
        with self._changed:
            task = self._tasks.get(task_id) if task_id else self._running
            if task is None:
                raise UnknownNameError("task", task_id, self._tasks) if task_id else GoalError(none)
            if task.status.state.ended:
                raise GoalError(f"{task.status.task_id} has ended already ({task.status.state.name.lower()})")
            return task

    def approve(
        self,
        task_id: str,
        plan_hash: str,
        approve: bool,
        comment: str = "",
        approver: str = "",
    ) -> Task:
        """Answer the pending approval of a task (the running one where no id is given); raises GoalError."""
        comment, approver = plain(comment, "comment"), plain(approver, "name of the approver", MAX_APPROVER)
        task = self._going_on(task_id, "no task is running, so no plan waits for approval")
        if task.approval is None:
            raise GoalError("plans need no approval here; feedback_node's parameter require_approval asks for it")
        task.approval.answer(plan_hash, approve, comment, approver)
        return task

    def confirm(self, task_id: str, token: str, action: Action | None) -> str:
        """Name of the person who approved the action of a token; raises GoalError where it was not approved."""
        task = self._running
        if action is None or task is None or task.status.task_id != task_id or not token:
            raise GoalError(f"no task {task_id!r} that could send {action} runs")
        if task.approval is None:
            raise GoalError("the body requires approved actions, but feedback_node's require_approval is not set")
        return task.approval.confirm(token, action)

    @property
    def running(self) -> Task | None:
        """The running task, or None."""
        return self._running

    def get(self, task_id: str = "") -> Task | None:
        """A task by its id; the newest where none is given."""
        with self._changed:
            if not task_id:
                return next(reversed(self._tasks.values()), None)
            return self._tasks.get(task_id)

    def tasks(self, limit: int = 0) -> list[Task]:
        """Available tasks, oldest first; only the newest `limit` of them where it is not 0."""
        with self._changed:
            return list(self._tasks.values())[-limit:]

    def dropped(self, task_id: str) -> bool:
        """Whether a task of this id existed and is no longer available."""
        with self._changed:
            return task_id in self._dropped

    def _forget_old(self) -> None:
        """Drop the oldest ended tasks beyond `kept_tasks`."""
        with self._changed:
            ended = [i for i, t in self._tasks.items() if t.status.state.ended]
            for task_id in ended[: max(0, len(ended) - self._kept_tasks)]:
                task = self._tasks.pop(task_id)
                self._dropped.append(task_id)
                self._requests = {k: t for k, t in self._requests.items() if t is not task}

    def close(self, seconds: float = 5.0) -> None:
        """Cancel everything and stop the worker, waiting at most `seconds`."""
        with self._changed:
            self._closed = True
            waiting, self._queue = self._queue, []
            running = self._running
            self._changed.notify_all()
        for task in waiting:
            self._end(task, TaskState.CANCELED, "the node was shut down")
        if running:
            running.canceled.cancel("the node was shut down")
        self._worker.join(seconds)
        if running:
            self._end(running, TaskState.CANCELED, "the node was shut down")

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closed)
                if self._closed:
                    return
                task = self._running = self._queue.pop(0)
            try:
                self._run(task)
            finally:
                with self._changed:
                    self._running = None

    def _run(self, task: Task) -> None:
        """Run one task from its sentence to its verified goal. Whatever happens, it ends in a final state."""
        task.started = time.monotonic()
        log.info(
            "%s begins (%s%s): %s",
            task.status.task_id,
            task.status.method,
            ", dry run" if task.status.dry_run else "",
            log_line(task.status.sentence or task.given_goal),
        )
        self._set(task, state=TaskState.RUNNING, phase="looking")
        try:
            task.canceled.check()
            if task.given_tree and task.moved_before:
                raise GoalError(f"{task.status.message}; a given tree is not followed from its middle: send it anew")
            self._await_body(lambda message: self._set(task, phase="waiting for the body", message=message))
            looked = self._look_for(task.status.sentence)
            if looked:
                task.journal.add("looked_for", answer=looked)
            world, read = self._understand(task, self._body.observe(task.world_revision))
            if read.answer:
                self._set(task, goal_source=read.source, understood=read.understood, answer=read.answer)
                task.journal.add("answer", answer=read.answer, understood=read.understood, source=read.source)
                self._end(task, TaskState.ANSWERED, f"answered: {read.answer}")
                return
            goal = read.goal
            world = world.with_derived(goal)
            self._set(task, goal=goal, goal_source=read.source, understood=read.understood, unmet=world.unmet(goal))
            task.journal.add(
                "goal",
                domain=world.domain,
                goal=[str(g) for g in goal],
                source=read.source,
                understood=read.understood,
                facts=[str(f) for f in sorted(world.facts)],
            )
            self._heed_rules(task, world, goal)
            if task.status.dry_run:
                self._plan(task, world, goal)
                return
            finding, message = self._act(task, world, goal, self._body)
            self._conclude(task, finding, message)
        except PlanweaveError as error:
            self._set(task, usage=task.status.usage + (error.usage or Usage()))
            canceled = isinstance(error, CanceledError)
            self._see_unmet(task)
            self._end(task, TaskState.CANCELED if canceled else TaskState.FAILED, str(error) or "cancelled")
        except Exception as error:
            log.exception("task %s", task.status.task_id)
            self._end(task, TaskState.FAILED, f"internal error ({type(error).__name__}: {error}); see the log")

    def _understand(self, task: Task, world: World) -> tuple[World, Interpretation]:
        """The goal, and the world it was interpreted in.

        Before a task is refused because of a missing object, a fresh look is taken: perception may just have been reset
        or restarted.
        """
        try:
            return world, self._read(task, world)
        except (GoalError, UnknownNameError):
            if world.silent:
                raise
            look = self._body.look(self._look_seconds)
            if not look.fresh or look.world.by_name.keys() == world.by_name.keys():
                raise
        return look.world, self._read(task, look.world)

    def _read(self, task: Task, world: World) -> Interpretation:
        """The goal, given or interpreted, as literals and in words; or the answer to a question."""
        domain = self._load_domain(world.domain)
        if goal := task.given_goal or task.known_goal:
            for literal in goal:
                domain.check_literal(literal, world)
            return Interpretation(goal, "given", understood=domain.phrases(goal))
        self._set(task, phase="interpreting the goal")
        read = self._planner.interpret_goal(task.status.sentence, world, task_id=task.status.task_id)
        self._set(task, usage=task.status.usage + read.usage)
        if not read.goal and not read.answer:
            raise GoalError("the sentence contains no goal; say what should be where in the end")
        return replace(read, understood=read.understood or domain.phrases(read.goal))

    def _heed_rules(self, task: Task, world: World, goal: tuple[Literal, ...]) -> None:
        """Record the rules in force; raise GoalError where they put the goal out of reach."""
        domain = self._load_domain(world.domain)
        if not domain.rules:
            return
        task.journal.add("rules", rules=[rule.text for rule in domain.rules])
        self._set(task, phase="checking the rules")
        if why := goal_conflict(domain, world, goal):
            raise GoalError(why)

    def _plan(self, task: Task, world: World, goal: tuple[Literal, ...]) -> None:
        """Dry run: the method acts on a predicted body; the task ends with the plan, or with why there is none."""
        domain = self._load_domain(world.domain)
        body = PredictedBody(domain, world)
        _, message = self._act(task, world, goal, body)
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
            self._end(task, TaskState.PLANNED, f"{steps}; a dry run, nothing was moved")
        else:
            self._end(
                task,
                TaskState.FAILED,
                f"no plan was found that reaches the goal: {message or check.message}; a dry run, nothing was moved",
            )

    def _act(
        self,
        task: Task,
        world: World,
        goal: tuple[Literal, ...],
        body: LookingBody,
    ) -> tuple[GoalCheck, str]:
        """Run the method, then the fallback where the goal does not hold; returns the final check of the goal and notes
        for the person. Executes nothing where the goal holds already, or where the result could not be observed.
        """
        began = world.stamp
        if world.silent or not world.unmet(goal):
            finding = self._look_at(task, body, goal, began)
            if not finding.unmet or (finding.unconfirmed and not finding.look.fresh):
                return finding, "nothing was moved" if finding.unconfirmed else "it held already, nothing was moved"
        episode = task.episode = Episode(
            task.status.task_id,
            task.status.sentence,
            goal,
            self._load_domain(world.domain),
            self._planner,
            body,
            task.journal,
            task.canceled,
            lambda: self._on_change(task),
            self._action_timeout,
            task.approval,
            dry_run=task.status.dry_run,
            said=task.said,
            namespace=self._namespace,
        )
        name, failed = task.status.method, ""
        try:
            run_method((lambda _: GivenTree(tree)) if (tree := task.given_tree) else self._make, name, episode)
        except (CanceledError, MethodFaultError):
            raise
        except PlanweaveError as error:
            if not self._fallback or name == self._fallback or episode.alone:
                raise
            episode.spend(error.usage)
            failed = f"{name} failed: {error}"
            log.warning("%s: %s", task.status.task_id, failed)
            task.journal.add("method_failed", method=name, error=str(error), kind=type(error).__name__)
        finding = self._look_at(task, body, goal, began)
        if self._fallback and name != self._fallback and finding.unmet and not episode.alone:
            reason = failed or episode.message or f"{name} ended before the goal held"
            told = f"the {self._fallback} planner takes over: {reason}"
            episode.fallback = True
            episode.tell("planning", told)
            task.journal.add("fallback", method=self._fallback, reason=reason)
            run_method(self._make, self._fallback, episode)
            if episode.message == told:  # a plan that did not pass is worth no word in the end; a fault is
                episode.message = f"{failed + '; ' if failed else ''}the {self._fallback} planner took over"
            finding = self._look_at(task, body, goal, began)
        return finding, episode.message

    def _look_at(self, task: Task, body: LookingBody, goal: tuple[Literal, ...], began: float) -> GoalCheck:
        """Look until the goal is confirmed, two looks contradict it, or the time is over.

        Every look begins after all motion has ended, so that predicted effects play no part.
        """
        phase = "checking the plan" if task.status.dry_run else "verifying the goal"
        if task.episode is not None:
            task.episode.tell(phase)
        else:
            self._set(task, phase=phase)
        deadline = time.monotonic() + self._look_seconds
        unmet, finding = 0, None
        while True:
            task.canceled.check()
            begun = time.monotonic()
            look = body.look(max(0.0, deadline - begun))
            if finding is not None and not look.fresh:  # what the looks before have shown says more
                break
            finding = confirm(look, goal, began)
            unmet = unmet + 1 if finding.unmet else 0
            if finding.confirmed or unmet >= 2 or not look.fresh or time.monotonic() >= deadline:
                break
            time.sleep(max(0.0, begun + _BETWEEN_LOOKS - time.monotonic()))  # where a body sees at any time
        world = finding.look.world.with_derived(goal)
        known = {str(g): (k := world.knowledge(g)).how.name.lower() + (f" ({k.of})" if k.of else "") for g in goal}
        task.journal.add(
            "checked",
            fresh=finding.look.fresh,
            stamp=world.stamp,
            unmet=[str(u) for u in finding.unmet],
            known=known,
            unconfirmed=list(finding.unconfirmed),
            inferred=list(finding.inferred),
            facts=[str(f) for f in sorted(world.facts)],
        )
        self._set(task, unmet=finding.unmet)
        return finding

    def _conclude(self, task: Task, finding: GoalCheck, message: str) -> None:
        """Set the final state; success requires the goal to hold in a look that began after all motion had ended."""
        if finding.confirmed:
            seen = ["the goal holds, as observed", *finding.inferred, message]
            self._end(task, TaskState.SUCCEEDED, "; ".join(filter(None, seen)))
        elif finding.unmet and (finding.look.fresh or task.episode is not None):
            domain = self._load_domain(finding.look.world.domain)
            missing = "; ".join(domain.phrase(u.negated()) for u in finding.unmet)
            blind = "" if finding.look.fresh else "; ".join(finding.unconfirmed)
            self._end(task, TaskState.FAILED, ". ".join(filter(None, [missing, message, blind])))
        else:
            why = "; ".join(finding.unconfirmed)
            what = "holds" if finding.unmet else "was reached"
            self._end(
                task,
                TaskState.NOT_CONFIRMED,
                f"it was not observed whether the goal {what}: {why}" + (f" ({message})" if message else ""),
            )

    def _see_unmet(self, task: Task) -> None:
        """Record the unmet goal literals of the newest world, for a task that ends without a check of its goal."""
        if task.status.goal and not task.status.dry_run:
            with contextlib.suppress(PlanweaveError):
                self._set(task, unmet=self._body.observe().with_derived(task.status.goal).unmet(task.status.goal))

    def _set(self, task: Task, **fields: object) -> None:
        task.status = replace(task.status, **fields)  # type: ignore[arg-type]
        self._on_change(task)

    def _end(self, task: Task, state: TaskState, message: str) -> None:
        with self._changed:
            if task.ending:
                return
            task.ending = True
        final = replace(task.snapshot(), state=state, phase=state.name.lower(), message=message, action=None)
        task.status = final
        with logged_loss(final.task_id):
            task.journal.add("ended", state=state.name, message=message, seconds_taken=round(final.elapsed, 3))
        with logged_loss(final.task_id):
            if self._store is not None:
                self._store.update(final)
        task.journal.close()
        log.info(
            "%s ended as %s after %.1f s and %d steps: %s",
            final.task_id,
            state.name,
            final.elapsed,
            final.steps,
            log_line(message),
        )
        self._on_change(task)
        task.episode = None  # its worlds and its tree are no longer needed
        self._forget_old()
        task.ended.set()
        self._on_end(task)
