"""Tasks: a queue, one worker, and the life of one task from its sentence to its checked goal."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from feedback_node.approval import Approval
from feedback_node.episode import Episode
from feedback_node.journal import Journal
from feedback_node.methods import METHODS
from planweave.budget import Usage
from planweave.cancellation import Cancellation
from planweave.domain import Domain
from planweave.errors import CanceledError, GoalError, PlanweaveError, UnknownNameError
from planweave.ports import Body, Planner
from planweave.task import TaskState, TaskStatus
from planweave.world import Literal, World

MAX_SENTENCE = 2000
log = logging.getLogger(__name__)


class Method(Protocol):
    """A planning method: acts until it has nothing left to do. Whether the goal holds is checked by others."""

    def run(self, episode: Episode) -> None:
        """Run the loop; may raise PlanweaveError."""


@dataclass
class Task:
    """One task with what is needed to run and to watch it."""

    status: TaskStatus
    given_goal: tuple[Literal, ...]
    journal: Journal
    world_revision: int = 0
    approval: Approval | None = None
    canceled: Cancellation = field(default_factory=Cancellation)
    episode: Episode | None = None
    said: deque[str] = field(default_factory=deque)
    started: float | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def snapshot(self) -> TaskStatus:
        """The status now, with the counters of the running episode."""
        status, episode = self.status, self.episode
        if self.started is not None and not status.state.ended:
            status = replace(status, elapsed=time.monotonic() - self.started)
        if episode is not None and not status.state.ended:
            status = replace(
                status, phase=episode.phase or status.phase, action=episode.action, steps=episode.steps,
                executed=episode.executed, corrections=episode.corrections, questions=episode.questions,
                fallback=episode.fallback, message=episode.message, usage=status.usage + episode.usage,
            )
        if self.approval is not None and self.approval.shown is not None:
            shown = self.approval.shown
            status = replace(status, plan=shown.plan, plan_hash=shown.hash, plan_changes=shown.changes)
            if self.approval.waiting and not status.state.ended:
                status = replace(status, state=TaskState.AWAITING_APPROVAL)
        return status


def _plain(text: str, what: str) -> str:
    """A person's words, stripped; raises GoalError where they are too long or no plain text."""
    text = text.strip()
    if len(text) > MAX_SENTENCE:
        raise GoalError(f"the {what} has {len(text)} characters; at most {MAX_SENTENCE} are read")
    if any(ord(c) < 32 and c not in "\t\n" for c in text):
        raise GoalError(f"the {what} has control characters; send plain text")
    return text


class TaskManager:
    """Accepts tasks at any time, runs one at a time in its own thread.

    make: method name -> a configured method. fallback: name of the method that takes over where the chosen one
    did not reach the goal, "" for none. approval_timeout: seconds that a person has to approve a plan before it moves
    anything, 0 where nobody needs to. look_for(sentence): tells open-vocabulary eyes what to look for. on_change(task)
    hears every change, on_end(task) the end.
    """

    def __init__(
        self, planner: Planner, body: Body, make: Callable[[str], Method], *, default_method: str = "tree_planner",
        fallback: str = "classical", action_timeout: float = 60.0, max_queue: int = 50,
        journal_folder: Path | None = None, approval_timeout: float = 0.0,
        look_for: Callable[[str], str] = lambda sentence: "",
        on_change: Callable[[Task], None] = lambda task: None, on_end: Callable[[Task], None] = lambda task: None,
    ):
        self._planner, self._body, self._make = planner, body, make
        self._default_method, self._fallback = default_method, fallback
        self._action_timeout, self._max_queue = action_timeout, max_queue
        self._journal_folder, self._on_change, self._on_end = journal_folder, on_change, on_end
        self._approval_timeout, self._look_for = approval_timeout, look_for
        self._tasks: dict[str, Task] = {}
        self._queue: list[Task] = []
        self._running: Task | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._numbers = itertools.count(1)
        self._worker = threading.Thread(target=self._work, name="tasks", daemon=True)
        self._worker.start()

    def submit(
        self, sentence: str, method: str = "", goal: Sequence[Literal] = (), world_revision: int = 0
    ) -> Task:
        """Queue a task; raises GoalError or UnknownNameError where it cannot be accepted.

        It begins in a world of at least `world_revision`, so that a change that its sender has seen is not missed.
        """
        sentence, method = _plain(sentence, "sentence"), method or self._default_method
        if not sentence and not goal:
            raise GoalError("the sentence is empty: say what to do, e.g. 'put the red cube in the left tray'")
        if method not in METHODS:
            raise UnknownNameError("method", method, METHODS)
        with self._changed:
            if len(self._queue) >= self._max_queue:
                raise GoalError(f"{self._max_queue} tasks wait already; cancel one or try again later")
            task_id = f"task-{next(self._numbers)}-{int(time.time()) % 1_000_000}"
            path = self._journal_folder / f"{task_id}.jsonl" if self._journal_folder else None
            journal = Journal(path)
            journal.add("submitted", sentence=sentence, method=method, goal=[str(g) for g in goal])
            approval = Approval(task_id, self._approval_timeout) if self._approval_timeout > 0 else None
            task = Task(TaskStatus(task_id, sentence, method), tuple(goal), journal, world_revision, approval)
            self._tasks[task_id] = task
            self._queue.append(task)
            self._changed.notify_all()
        self._on_change(task)
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
            self._end(task, TaskState.CANCELED, "cancelled before it began")
        return task

    def say(self, task_id: str, text: str) -> Task:
        """Hand a person's words to a running task (the running one where no id is given); raises GoalError.

        Methods that replan from text read them as one more error message; the record keeps them in any case.
        """
        text = _plain(text, "text")
        if not text:
            raise GoalError("the text is empty: say what went wrong or what to do, e.g. 'the mug is too hot to touch'")
        with self._changed:
            task = self._going_on(task_id, "no task is running that could be told anything")
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

    def approve(self, task_id: str, plan_hash: str, approve: bool, comment: str = "") -> Task:
        """A person's word on the plan of a task (the running one where no id is given); raises GoalError."""
        comment = _plain(comment, "comment")
        task = self._going_on(task_id, "no task is running, so no plan waits for approval")
        if task.approval is None:
            raise GoalError("plans need no approval here; feedback_node's parameter require_approval asks for it")
        task.approval.answer(plan_hash, approve, comment)
        return task

    @property
    def running(self) -> Task | None:
        """The task that runs now."""
        return self._running

    def get(self, task_id: str = "") -> Task | None:
        """A task by its id; the newest where none is given."""
        with self._changed:
            if not task_id:
                return next(reversed(self._tasks.values()), None)
            return self._tasks.get(task_id)

    def tasks(self) -> list[Task]:
        """All tasks, oldest first."""
        with self._changed:
            return list(self._tasks.values())

    def close(self, seconds: float = 5.0) -> None:
        """Cancel everything and end the worker, waiting at most some seconds."""
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
        """One task from its sentence to its checked goal. Whatever happens, the task ends with a state."""
        task.started = time.monotonic()
        self._set(task, state=TaskState.RUNNING, phase="looking")
        try:
            task.canceled.check()
            looked = self._look_for(task.status.sentence)
            if looked:
                task.journal.add("looked_for", answer=looked)
            world = self._body.observe(task.world_revision)
            goal, source = self._goal(task, world)
            self._set(task, goal=goal, goal_source=source, unmet=world.unmet(goal))
            task.journal.add("goal", goal=[str(g) for g in goal], source=source,
                             facts=[str(f) for f in sorted(world.facts)])
            message = self._act(task, world, goal)
            self._check(task, goal, message)
        except PlanweaveError as error:
            self._set(task, usage=task.status.usage + (error.usage or Usage()))
            canceled = isinstance(error, CanceledError)
            self._end(task, TaskState.CANCELED if canceled else TaskState.FAILED, str(error) or "cancelled")
        except Exception as error:
            log.exception("task %s", task.status.task_id)
            self._end(task, TaskState.FAILED, f"internal error ({type(error).__name__}: {error}); see the node's log")

    def _goal(self, task: Task, world: World) -> tuple[tuple[Literal, ...], str]:
        if task.given_goal:
            domain = Domain.load(world.domain)
            for literal in task.given_goal:
                domain.check_literal(literal, world)
            return task.given_goal, "given"
        self._set(task, phase="interpreting the goal")
        read = self._planner.interpret_goal(task.status.sentence, world)
        self._set(task, usage=task.status.usage + read.usage)
        if not read.goal:
            raise GoalError("the sentence names nothing to reach; say what should be where in the end")
        return read.goal, read.source

    def _act(self, task: Task, world: World, goal: tuple[Literal, ...]) -> str:
        """Run the method, then the fallback where the goal does not hold; returns what is worth telling."""
        if not world.unmet(goal):
            return "it held already, nothing was moved"
        episode = task.episode = Episode(
            task.status.task_id, task.status.sentence, goal, Domain.load(world.domain), self._planner, self._body,
            task.journal, task.canceled, lambda: self._on_change(task), self._action_timeout, task.approval,
            said=task.said,
        )
        name = task.status.method
        try:
            self._make(name).run(episode)
        except CanceledError:
            raise
        except PlanweaveError as error:
            if not self._fallback or name == self._fallback:
                raise
            episode.spend(error.usage)
            episode.tell(message=str(error))
            task.journal.add("method_failed", method=name, error=str(error), kind=type(error).__name__)
        if self._fallback and name != self._fallback and episode.observe().unmet(goal):
            reason = episode.message or f"{name} ended before the goal held"
            episode.fallback = True
            episode.tell("planning", f"the {self._fallback} planner takes over: {reason}")
            task.journal.add("fallback", method=self._fallback, reason=reason)
            self._make(self._fallback).run(episode)
        return episode.message

    def _check(self, task: Task, goal: tuple[Literal, ...], message: str) -> None:
        """Success means that the goal holds in the world as observed now."""
        world = self._body.observe()
        unmet = world.unmet(goal)
        task.journal.add("checked", unmet=[str(u) for u in unmet], stamp=world.stamp,
                         facts=[str(f) for f in sorted(world.facts)])
        self._set(task, unmet=unmet)
        if unmet:
            domain = Domain.load(world.domain)
            missing = "; ".join(domain.phrase(u.negated()) for u in unmet)
            self._end(task, TaskState.FAILED, f"{missing}." + (f" {message}" if message else ""))
        else:
            self._end(task, TaskState.SUCCEEDED, "the goal holds, as observed" + (f"; {message}" if message else ""))

    def _set(self, task: Task, **fields: object) -> None:
        task.status = replace(task.status, **fields)  # type: ignore[arg-type]
        self._on_change(task)

    def _end(self, task: Task, state: TaskState, message: str) -> None:
        final = replace(task.snapshot(), state=state, phase=state.name.lower(), message=message, action=None)
        task.status = final
        task.journal.add("ended", state=state.name, message=message, seconds_taken=round(final.elapsed, 3))
        task.journal.close()
        self._on_change(task)
        task.ended.set()
        self._on_end(task)
