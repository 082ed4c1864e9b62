"""Task manager: a queue, one worker thread, and the tasks that wait, run and have ended."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from planweave.core.base.errors import CanceledError, GoalError, NotStoppedError, PlanweaveError, UnknownNameError
from planweave.core.base.names import log_line, plain_text
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal
from planweave.core.trees.behaviour_tree_xml import MAX_CHARACTERS
from planweave.core.workflow.approval import MOVED, Approval, OnApproved, Request
from planweave.core.workflow.ports import LookingBody, Planner
from planweave.core.workflow.question import Inquiry
from planweave.core.workflow.step_motion import MAX_STEPS
from planweave.core.workflow.task_status import TaskGoal, TaskState, TaskStatus
from planweave.core.workflow.wrapped_body import CompletedBody
from planweave.methods import METHODS
from planweave.methods.running.journal import Journal
from planweave.methods.running.method_run import Method as Method
from planweave.tasks.corrections import is_correction, is_objection, spoken_of
from planweave.tasks.given_tree import GIVEN, is_tree
from planweave.tasks.interruption import Interruption
from planweave.tasks.memory import Memory
from planweave.tasks.task import Task as Task
from planweave.tasks.task_runner import TaskRunner
from planweave.tasks.task_store import Kept, TaskStore, logged_loss, submission

MAX_APPROVER = 200
MAX_REQUEST_ID = 100
_REMEMBERED = 10_000  # ids of tasks that were dropped
_LOOKING = 5.0  # s beyond the time for a look that its answer may take
log = logging.getLogger(__name__)


class TaskManager:
    """Accepts tasks at any time and runs one at a time in a thread.

    approval_timeout: seconds that a person has to approve a plan before it moves anything, 0 where no approval is
    required; approval_tolerance: m that a thing may move until a plan that names it is approved anew. answer_timeout:
    seconds that a person has to answer what an unclear sentence means, 0 where nobody is asked and the sentence is
    refused; pass_while_asking: whether the tasks after one that waits for an answer go on meanwhile. pause_timeout:
    seconds after which a paused task is cancelled. kept_tasks: number of ended tasks that remain available.
    on_change(task): called at every change; on_end(task): at the end; on_approved: tells the body the approved step
    that is carried out now. store: keeps tasks and their records, for `take_up` in a later process. run_options: those
    of TaskRunner.
    """

    def __init__(
        self,
        planner: Planner,
        body: LookingBody,
        make: Callable[[str], Method],
        *,
        default_method: str = "tree_planner",
        max_queue: int = 50,
        kept_tasks: int = 200,
        journal_folder: Path | None = None,
        approval_timeout: float = 0.0,
        approved_alone: Collection[str] = (),
        approval_tolerance: float = MOVED,
        answer_timeout: float = 0.0,
        pass_while_asking: bool = True,
        pause_timeout: float = 3600.0,
        on_change: Callable[[Task], None] = lambda task: None,
        on_end: Callable[[Task], None] = lambda task: None,
        on_approved: OnApproved = lambda step: None,
        store: TaskStore | None = None,
        **run_options: Any,
    ):
        body = CompletedBody(body, run_options.get("load_domain", Domain.load))
        self.memory = Memory(store)
        self._runner = TaskRunner(
            planner,
            body,
            make,
            on_change,
            self._end,
            self._set_aside,
            memory=self.memory,
            spoken_of=lambda task: spoken_of(self.tasks(), task),
            **run_options,
        )
        self._default_method, self._max_queue = default_method, max_queue
        self._journal_folder, self._on_change, self._on_end = journal_folder, on_change, on_end
        self._approval_timeout, self._approved_alone = approval_timeout, approved_alone
        self._approval_tolerance, self._on_approved = approval_tolerance, on_approved
        self._answer_timeout, self._pass_while_asking = answer_timeout, pass_while_asking
        self._pause_timeout = pause_timeout
        self._kept_tasks, self._store = kept_tasks, store
        self._tasks: dict[str, Task] = {}
        self._requests: dict[str, Task] = {}  # by the id that their sender gave
        self._correcting = threading.Lock()
        self._corrections: dict[str, str] = {}  # sentences of corrections by the id that their sender gave
        self._dropped: deque[str] = deque(maxlen=_REMEMBERED)
        self._queue: list[Task] = []
        self._running: Task | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._numbers = itertools.count(store.last_number() + 1 if store else 1)
        self._threads: list[threading.Thread] = []
        self._begin_work()

    def submit(
        self, sentence: str, method: str = "", goal: Sequence[Literal] = (), request_id: str = "", **more: Any
    ) -> Task:
        """Queue a task, as `accept` does. more: of `TaskGoal`."""
        return self.accept(TaskGoal(sentence, method, tuple(goal), **more), request_id)

    def accept(self, asked: TaskGoal, request_id: str = "") -> Task:
        """Queue a task; raises GoalError or UnknownNameError where it cannot be accepted.

        A repeated request with the same non-empty id returns the first task. In a dry run the method plans against
        predicted effects; nothing moves.
        """
        sentence, named, method = plain_text(asked.sentence, "sentence"), bool(asked.method), asked.method
        method, tree = method or self._default_method, method if is_tree(method) else ""
        asked = replace(asked, sentence=sentence, method=method)
        if len(tree) > MAX_CHARACTERS:
            raise GoalError(f"the tree has {len(tree)} characters; at most {MAX_CHARACTERS} are read")
        if (asked.before or asked.keep) and not asked.goal:
            raise GoalError("states before the end, or what is to be kept, come with a goal in literals; give one, too")
        if asked.before and tree:
            raise GoalError("a tree is followed as it is, once: give no states before the end with it")
        if not sentence and not asked.goal:
            raise GoalError("the sentence is empty: say what to do, e.g. 'put the red cube in the left tray'")
        if not tree and method not in METHODS:
            raise UnknownNameError("method", method, METHODS)
        if len(request_id) > MAX_REQUEST_ID:
            raise GoalError(f"the request id has {len(request_id)} characters; at most {MAX_REQUEST_ID} are read")
        if not asked.goal and (is_correction(sentence) or is_objection(sentence)):
            asked = replace(asked, sentence=self._corrected_once(sentence, request_id))
        with self._changed:
            earlier = self._requests.get(request_id) if request_id else None
            if earlier is not None:
                if earlier.asked != asked:
                    raise GoalError(
                        f"the request id {request_id!r} is that of {earlier.status.task_id}, another task; give "
                        "every task an id of its own"
                    )
                return earlier
            if len(self._queue) >= self._max_queue:
                raise GoalError(f"{self._max_queue} tasks are queued already; cancel one or try again later")
            number = next(self._numbers)
            task_id = f"task-{number}-{int(time.time()) % 1_000_000}"
            status = TaskStatus(task_id, asked.sentence, GIVEN if tree else method, dry_run=asked.dry_run)
            journal = self._journal(task_id)
            with self._store.together() if self._store else contextlib.nullcontext():
                if self._store is not None:
                    self._store.accept(number, status, request_id, tree, asked.goal)
                journal.add("submitted", **submission(asked, status.method))
            task = self._gated(Task(status, asked, journal, named))
            self._tasks[task_id] = task
            if request_id:
                self._requests[request_id] = task
            self._on_change(task)  # that it is queued is told before it can begin
            self._queue.append(task)
            self._changed.notify_all()
        return task

    def _corrected_once(self, sentence: str, request_id: str) -> str:
        """What a correction says; of a request that is sent again the same, and nothing is corrected a second time."""
        with self._correcting:
            if request_id and request_id in self._corrections:
                return self._corrections[request_id]
            if request_id and request_id in self._requests:
                return sentence  # the id of another task, which is refused
            newest = next(iter(self.tasks(1)), None)
            corrected = sentence
            if is_correction(sentence):
                corrected = self._corrected(newest)
            elif newest is not None and not newest.status.state.ended:  # it took the thing that gets a name for another
                self._give_up(newest, "that is not what was meant", "that is not what was meant")
            if request_id:
                self._corrections[request_id] = corrected
                while len(self._corrections) > _REMEMBERED:
                    del self._corrections[next(iter(self._corrections))]
            return corrected

    def _corrected(self, newest: Task | None) -> str:
        """The sentence of the newest task, whose answer was another one; that task is cancelled where it goes on. After
        several answers it is not known which of them is meant, and all are asked again.

        Raises GoalError where that task has asked nothing.
        """
        if newest is None or not newest.answers.entries:
            raise GoalError(
                "it is not clear of what the other one is meant: the task before has asked nothing; say the whole task"
            )
        if not newest.status.state.ended:
            self._give_up(newest, "the other one is meant", "the other one is meant")
        if len(set(newest.answers.entries)) > 1:
            self.memory.forget(newest.answers.entries)
        else:
            self.memory.correct(newest.answers.entries[-1])
        return newest.answers.sentence or newest.status.sentence

    def _journal(self, task_id: str, lines: Sequence[str] = ()) -> Journal:
        """The record of a task, with its events so far."""
        path = self._journal_folder / f"{task_id}.jsonl" if self._journal_folder else None
        return Journal(path, partial(self._store.add, task_id) if self._store else None, lines)

    def _gated(self, task: Task, at_least: float = 0.0) -> Task:
        """The task with its waits for people: who approves its plans, and who says what its sentence means. Their time
        stands still while it is paused. at_least: s to approve also where no approval is required.
        """
        task_id, seconds = task.status.task_id, max(self._approval_timeout, at_least)
        if seconds > 0 and not task.status.dry_run:
            task.approval = Approval(
                task_id, seconds, self._approved_alone, self._approval_tolerance, self._on_approved
            )
        if self._answer_timeout > 0:
            task.inquiry = Inquiry(task_id, self._answer_timeout)
        for gate in (task.approval, task.inquiry):
            if gate is not None:
                gate.paused = lambda: task.pause.is_set
        return task

    def take_up(self, ask_seconds: float = 0.0) -> None:
        """Take up the stored tasks of a process that is gone: ended ones as they are, the others are queued.

        ask_seconds: time that a person has to approve each plan with which an interrupted task goes on; 0: nobody is
        asked because of that. Raises StorageError, and takes up none, where that cannot be recorded.
        """
        with self._changed:
            every = self._store.tasks() if self._store else []
            taken = [self._taken_up(kept, ask_seconds) for kept in every]  # all, or none where one cannot be recorded
            for kept, task in zip(every, taken):
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
            task = Task(status, kept.asked, Journal(lines=kept.lines), ending=status.state)
            task.journal.close()
            task.ended.set()
            return task
        found = Interruption.of(kept)
        journal = self._journal(status.task_id, kept.lines)
        task = Task(status, kept.asked, journal, answers=found.answers, known=found.read)
        self._gated(task, ask_seconds if found.moved else 0.0)
        if found.paused is not None:
            self._shut(task, *found.paused)
        if found.began:
            log.warning("%s: %s", status.task_id, found.message)
            journal.add("interrupted", done=list(found.done), under_way=found.under_way, message=found.message)
            task.status = replace(status, message=found.message)
            task.moved_before = found.moved
            task.said.extend([found.message] if found.moved else [])
        return task

    def cancel(self, task_id: str = "") -> Task:
        """Cancel a queued or running task (the running one where no id is given); raises GoalError if it ended."""
        task = self._going_on(task_id, "no task is running")
        if not self._give_up(task, "cancelled by request", "cancelled before it started"):
            raise GoalError(f"{task.status.task_id} has just ended: the cancellation came too late")
        return task

    def _give_up(self, task: Task, reason: str, queued_reason: str) -> bool:
        """Cancel a task; False where it has just ended otherwise."""
        with self._changed:
            queued = task in self._queue
            if queued:
                self._queue.remove(task)
        task.canceled.cancel(reason)
        if queued:
            self._end(task, TaskState.CANCELED, queued_reason if task.started is None else reason)
        return task.ending in (None, TaskState.CANCELED)

    def pause(self, task_id: str = "", by: str = "", reason: str = "") -> Task:
        """Pause a task (the running one where no id is given): its body stops and holds, and nothing moves before
        `resume`. One that waits in the queue lets others pass. Raises GoalError where it cannot be paused.
        """
        by, reason = plain_text(by, "name of the person", MAX_APPROVER), plain_text(reason, "reason")
        with self._changed:
            task = self._going_on(task_id, "no task is running that could be paused")
            if task.status.dry_run:
                raise GoalError(f"{task.status.task_id} is a dry run, in which nothing moves; cancel it instead")
            if task.ending is not None:
                raise GoalError(f"{task.status.task_id} is ending in this moment")
            self._of(task, lambda: self._shut(task, by, reason))
            task.journal.add("paused", by=by, reason=reason, message=task.pause.message)
        self._on_change(task)
        with contextlib.suppress(PlanweaveError):  # without a body there is nothing to compare with
            task.pause.know(self._runner.body.observe(), first=True)
        return task

    def _shut(self, task: Task, by: str, reason: str) -> None:
        over = f"paused by {by or 'somebody'} and not resumed within {self._pause_timeout:g} s (pause_timeout)"
        task.pause.pause(by, reason, self._pause_timeout, lambda: self._give_up(task, over, over))

    def resume(self, task_id: str = "", by: str = "") -> Task:
        """Let a paused task go on from the world as a fresh look shows it; where no id is given the running one, or the
        only paused one. Raises GoalError, with the reason where it stays paused.
        """
        by = plain_text(by, "name of the person", MAX_APPROVER)
        with self._changed:
            paused = [t for t in self._tasks.values() if t.pause.is_set]
            if not task_id and len(paused) == 1:
                task_id = paused[0].status.task_id
            task = self._going_on(task_id, "no task is paused")
            self._of(task, lambda: task.pause.resume(by))
            queued = task in self._queue
            if queued:  # it begins with a look, as all tasks do
                task.pause.release()
                task.journal.add("resumed", by=by, changes=[], message=f"resumed by {by or 'somebody'}")
                self._changed.notify_all()
        if queued:
            self._on_change(task)
        elif why := task.pause.answer(self._runner.resume_seconds + _LOOKING):
            raise GoalError(f"{task.status.task_id} was not resumed: {why}")
        return task

    def _of(self, task: Task, act: Callable[[], None]) -> None:
        """Do something with a task; errors then name it."""
        try:
            act()
        except GoalError as error:
            raise GoalError(f"{task.status.task_id}: {error}") from None

    def say(self, task_id: str, text: str) -> Task:
        """Pass a person's feedback to a running task (the running one where no id is given); raises GoalError.

        Methods that replan from text treat it as an error message; it is recorded in any case.
        """
        text = plain_text(text, "text")
        if not text:
            raise GoalError("the text is empty: say what went wrong or what to do, e.g. 'the mug is too hot to touch'")
        with self._changed:
            task = self._going_on(task_id, "no task is running that could receive feedback")
            task.journal.add("said", text=text)
            task.said.append(text)
        return task

    def _going_on(self, task_id: str, none: str) -> Task:
        """A task that has not ended; where no id is given the running one, or the only one that waits for an answer.
        Raises GoalError or UnknownNameError.
        """
        with self._changed:
            alone = asking[0] if len(asking := self._asking()) == 1 else None
            task = self._tasks.get(task_id) if task_id else self._running or alone
            if task is None:
                raise UnknownNameError("task", task_id, self._tasks) if task_id else GoalError(none)
            if task.status.state.ended:
                raise GoalError(f"{task.status.task_id} has ended already ({task.status.state.word})")
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
        comment, approver = plain_text(comment, "comment"), plain_text(approver, "name of the approver", MAX_APPROVER)
        task = self._going_on(task_id, "no task is running, so no plan waits for approval")
        if task.approval is None:
            raise GoalError("plans need no approval here; feedback_node's parameter require_approval asks for it")
        task.approval.answer(plan_hash, approve, comment, approver)
        return task

    def answer(self, task_id: str, question_id: str, choice: int = 0, text: str = "", person: str = "") -> str:
        """Answer the question that a task (where no id is given, the one that asks it) waits with; raises GoalError.

        choice: number of a choice, from 1; 0: `text` is the answer (planweave.core.workflow.question). Returns what was
        chosen.
        """
        text, person = plain_text(text, "answer"), plain_text(person, "name of who answers", MAX_APPROVER)
        with self._changed:
            asking = {q.id: t.status.task_id for t in self._asking() if t.inquiry and (q := t.inquiry.shown)}
        task_id = task_id or asking.get(question_id) or next(iter(asking.values()), "")
        task = self._going_on(task_id, "no task is running, so no question waits for an answer")
        if task.inquiry is None:
            raise GoalError("no task asks anything here: feedback_node's parameter answer_timeout is 0")
        return task.inquiry.answer(question_id, choice, text, person)

    def edit(self, task_id: str, plan_hash: str, plan: Sequence[Action | None], editor: str = "") -> Request:
        """Replace the plan of a task that waits for approval (of the running one where no id is given); what waits now.
        Raises GoalError, also where the new plan does not pass the check.
        """
        editor = plain_text(editor, "name of the editor", MAX_APPROVER)
        steps = [action for action in plan if action is not None]
        if not steps or len(steps) != len(plan):
            raise GoalError("an edited plan has a step at least, and every step a name; refuse the plan to do nothing")
        if len(steps) > MAX_STEPS:
            raise GoalError(f"the edited plan has {len(steps)} steps; at most {MAX_STEPS} are read")
        task = self._going_on(task_id, "no task is running, so no plan waits for approval")
        if task.approval is None:
            raise GoalError("plans need no approval here; feedback_node's parameter require_approval asks for it")
        return task.approval.edit(plan_hash, steps, editor)

    @property
    def running(self) -> Task | None:
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
        """Return whether a task of this id existed and is no longer available."""
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
            task.canceled.cancel("the node was shut down")
            self._end(task, TaskState.CANCELED, "the node was shut down")
        if running:
            running.canceled.cancel("the node was shut down")
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        if running and running.acts:
            self._end(running, TaskState.FAILED, "the node was shut down while the body acts", NotStoppedError.code)
        elif running:
            self._end(running, TaskState.CANCELED, "the node was shut down")

    def _begin_work(self) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(threading.Thread(target=self._work, name="tasks", daemon=True))
        self._threads[-1].start()

    def _work(self) -> None:
        """Run one task after the other, until another thread does."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._next() or self._closed)
                task = self._next()
                if self._closed or task is None:
                    return
                self._queue.remove(task)
                self._running = task
                if task.started is not None:  # its own thread goes on
                    self._changed.notify_all()
                    return
            try:
                self._runner.run(task)
            finally:
                with self._changed:
                    again = self._running is task
                    self._running = None if again else self._running
            if not again:
                return

    def _next(self) -> Task | None:
        """The first task of the queue that is not paused and waits for no answer; one that a process that is gone had
        begun keeps its turn.
        """
        asking = self._asking()
        free = (task for task in self._queue if task not in asking and (task.moved_before or not task.pause.is_set))
        return next(free, None)

    def _asking(self) -> list[Task]:
        """The tasks that wait for an answer, oldest first."""
        return [task for task in self._tasks.values() if task.inquiry is not None and task.inquiry.waiting]

    @contextlib.contextmanager
    def _set_aside(self, task: Task) -> Iterator[None]:
        """While a person is asked, the robot is the next task's; the answered one has it again before all that have not
        begun. Raises CanceledError where it is cancelled before that.
        """
        self._on_change(task)
        if self._pass_while_asking:
            with self._changed:
                self._queue.insert(sum(t.started is not None for t in self._queue), task)
                self._running = None
                self._begin_work()
        try:
            yield
            with task.canceled.calling(self._wake), self._changed:
                self._changed.notify_all()
                if self._running not in (None, task):
                    task.status = replace(task.status, state=TaskState.QUEUED, phase="waiting for the robot")
                    self._on_change(task)
                self._changed.wait_for(lambda: self._running is task or task.canceled.is_set)
            task.canceled.check()
            task.status = replace(task.status, state=TaskState.RUNNING, phase="looking")
        finally:
            with self._changed:
                if task in self._queue:
                    self._queue.remove(task)
        self._on_change(task)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _end(self, task: Task, state: TaskState, message: str, code: str = "") -> None:
        with self._changed:
            if task.ending is not None:
                return
            task.ending = state  # a cancellation that is not seen below sees this
        if task.canceled.is_set and state not in (TaskState.CANCELED, TaskState.FAILED):
            message, code = f"{message}; the cancellation came too late", code or "canceled_late"
        final = replace(task.snapshot(), state=state, phase=state.word, message=message, action=None)
        final = replace(final, code=code or (CanceledError.code if state is TaskState.CANCELED else ""))
        task.status = final
        task.pause.end()
        with logged_loss(final.task_id):
            task.journal.add(
                "ended", state=state.name, code=final.code, message=message, seconds_taken=round(final.elapsed, 3)
            )
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
