"""Texts of the page about a task, as HTML. Everything that comes from people, models or labels is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Known, World, WorldObject
from planweave.core.trees.action_tree import TreeRow, children_of
from planweave.core.workflow.question import Remembered
from planweave.core.workflow.step_motion import PlanPreview, preview_text, step_text
from planweave.core.workflow.task_status import STATE_WORDS, STEP_MARKS, TaskState, TaskStatus, states_text, usage_text
from planweave.page.moments import Moment

_COLOURS = {
    TaskState.SUCCEEDED: "#2f9e44",
    TaskState.FAILED: "#e03131",
    TaskState.CANCELED: "#e8590c",
    TaskState.NOT_CONFIRMED: "#e8590c",
    TaskState.AWAITING_APPROVAL: "#9c36b5",
    TaskState.PAUSED: "#e8590c",
    TaskState.AWAITING_ANSWER: "#9c36b5",
}
_CALM = "#1c7ed6"
_NODES = 40  # of a tree that are shown
_OLD = 1.0  # s after which is said when a picture came
_THINGS, _FACTS = 60, 8  # objects of a world that are shown, and facts of each
_HOW = {Known.SEEN: "seen", Known.SENSED: "in the hand", Known.REMEMBERED: "remembered", Known.INFERRED: "assumed"}
NONE = "–"  # what is chosen of a list where nothing is
NEXT_STAYS_IN_SIGHT = """<style>
.mantine-ScrollArea-content div[style*="overflow: hidden"]:has(.planweave-keep) { overflow: clip !important; }
.mantine-ScrollArea-content div:has(> .planweave-keep) + div { position: sticky; top: 0; z-index: 5; }
</style><div class="planweave-keep"></div>"""
"""Keeps what follows it at the upper edge of a panel of viser's that is scrolled: `hidden` would let it go."""


def task_html(status: TaskStatus | None) -> str:
    """The state of a task: what was understood, plan and current step, report, use of the model."""
    if status is None:
        return _box("<i>No task yet. Say what is to be done; “Plan” moves nothing.</i>")
    word = STATE_WORDS[status.state]
    rows = [
        f'<b style="color:{_COLOURS.get(status.state, _CALM)}">{escape(word)}</b> · {escape(status.phase)}',
        f"“{escape(status.sentence)}”" if status.sentence else "",
        f"<b>Understood</b>: {escape(status.understood)}" if status.understood else "",
        f"<b>Goal</b> ({escape(status.goal_source)}): <code>{escape(' and '.join(map(str, status.goal)))}</code>"
        if status.goal
        else "",
        f"<b>Before that</b> ({status.reached} of {len(status.before)} reached): "
        f"<code>{escape(states_text(status.before))}</code>"
        if status.before
        else "",
        f"<b>Kept</b>: <code>{escape(' and '.join(map(str, status.keep)))}</code>" if status.keep else "",
        f"<b>Answer</b>: {escape(status.answer)}" if status.answer else "",
        _plan(status),
        f"<b>Now</b>: <code>{escape(str(status.action))}</code>" if status.action and not status.state.ended else "",
        f"<b>Not so</b>: <code>{escape(', '.join(map(str, status.unmet)))}</code>" if status.unmet else "",
        escape(status.message) if status.message and not status.answer else "",
        f"<small>{escape(_numbers(status))}<br>{escape(usage_text(status.usage))}</small>",
    ]
    return _box("<br>".join(row for row in rows if row))


def tree_html(rows: Sequence[TreeRow]) -> str:
    """The action tree with the state of each step and the number of plans through it."""
    by_parent = children_of(rows)
    if not by_parent.get(0):
        return _box("<i>This task has no action tree (yet).</i>")
    left = _NODES

    def branch(parent: int) -> str:
        nonlocal left
        parts = []
        for row in by_parent.get(parent, ()):
            if left <= 0:
                break
            left -= 1
            parts.append(
                f"<li>{escape(STEP_MARKS[row.status])} <code>{escape(row.action)}</code> ×{row.samples}"
                f"{branch(row.id)}</li>"
            )
        return f'<ul style="margin:0;padding-left:1.1em">{"".join(parts)}</ul>' if parts else ""

    more = len(rows) - 1 - _NODES
    return _box(branch(0) + (f"<i>… {more} more steps</i>" if more > 0 else ""))


def world_html(domain: Domain, world: World) -> str:
    """Each object with how it is known, its place and what holds of it; what holds of the body alone."""
    if not world.objects:
        return _box("<i>Nothing is known of the world (yet).</i>")
    of: dict[str, list[str]] = {}
    for fact in domain.told_facts(world):
        for name in fact.args[:1] or ("",):
            of.setdefault(name, []).append(domain.phrase(fact))
    rows = [f"<b>{escape(', '.join(of.get('', ())))}</b>"] if of.get("") else []
    if world.silent:
        rows.insert(0, '<b style="color:#e8590c">No detections come: this is how it was last.</b>')
    with_facts_first = sorted(world.objects, key=lambda o: (o.name not in of, o.type == "location", o.name))
    rows += [_thing(thing, of.get(thing.name, [])) for thing in with_facts_first[:_THINGS]]
    more = len(world.objects) - _THINGS
    return _box("<br>".join(rows) + (f"<br><i>… {more} more objects</i>" if more > 0 else ""))


def _thing(thing: WorldObject, facts: Sequence[str]) -> str:
    known = [_HOW[thing.known]] if thing.known in _HOW and thing.type != "location" else []
    known += [f"hidden by {thing.hidden_by}"] if thing.hidden_by else []
    known += ["at ({:.2f}, {:.2f}, {:.2f}) m".format(*thing.position)] if thing.position else []
    told = [*facts[:_FACTS], *([f"… {len(facts) - _FACTS} more"] if len(facts) > _FACTS else [])]
    holds = f"<br>&emsp;{escape('; '.join(told))}" if told else ""
    return f"<b>{escape(thing.name)}</b> <small>{escape(', '.join(known))}</small>{holds}"


def record_html(record: Mapping[str, Any]) -> str:
    """Events of a task, a line each."""
    lines = [line for event in record.get("events", ()) if (line := _event(event))]
    return _box("<br>".join(lines) or "<i>nothing is recorded of it</i>")


def moment_html(moment: Moment) -> str:
    """A moment of an earlier task, which the 3D view shows instead of now."""
    old = moment.seconds - moment.pictured
    picture = "no picture: nobody had the page open"
    if moment.picture:
        picture = f"the picture came {old:.1f} s before" if old > _OLD else ""
    told = f'<b style="color:#e8590c">{moment.seconds:.1f} s after its begin, not now</b><br>{escape(moment.words)}'
    return _box(told + (f"<br><small>{picture}</small>" if picture else ""))


def preview_html(preview: PlanPreview) -> str:
    """Length, duration and clearance of each step of a plan, and of the whole."""
    steps = "".join(
        f"<li>{escape(step.words or str(step.action))}<br><small>{escape(step_text(step))}</small></li>"
        for step in preview.steps
    )
    return _box(
        f'<b>Motion</b>: {escape(preview_text(preview))}<ol style="margin:0;padding-left:1.6em">{steps}</ol>'
        "<small>the ghost shows it; nothing has moved</small>"
    )


def choices(tasks: Iterable[TaskStatus]) -> list[str]:
    """Tasks to choose from, newest first: state, sentence and id."""
    found = [f"{STATE_WORDS[t.state]}: {t.sentence or ' and '.join(map(str, t.goal))} [{t.task_id}]" for t in tasks]
    return found[::-1]


def remembered_html(entries: Sequence[Remembered]) -> str:
    """Remembered answers of people, newest first."""
    return _box(
        "<br>".join(escape(entry.text) for entry in reversed(entries)) or "<i>nothing, as far as was looked</i>"
    )


def id_of(choice: str) -> str:
    return choice.rpartition("[")[2].removesuffix("]")


def error_html(message: str) -> str:
    """Message of a failed request."""
    return f'<div style="padding:0 1em;color:#e03131">{escape(message)}</div>' if message else ""


def note_html(message: str) -> str:
    """Message of a request that was carried out."""
    return f'<div style="padding:0 1em">{escape(message)}</div>' if message else ""


def _event(event: Mapping[str, Any]) -> str:
    kind = event.get("event")
    if kind == "action":
        done = event.get("code") == "SUCCESS"
        why = "" if done else f" – {event.get('code')}: {event.get('message', '')}"
        return f"{'✓' if done else '✗'} <code>{escape(str(event.get('action')))}</code>{escape(why)}"
    if kind == "plan" and not event.get("valid"):
        steps = ", ".join(map(str, event.get("actions", ())))
        why = "".join(f"<br>&emsp;{escape(part)}" for part in str(event.get("message", "")).split("; "))
        return f"✗ plan refused ({event.get('samples', 1)}×): <code>{escape(steps)}</code>{why}"
    if kind in ("plan", "classical_plan"):
        return f"✓ plan: <code>{escape(', '.join(map(str, event.get('actions', ()))))}</code>"
    text = event.get("message") or event.get("text") or ""
    return f"{escape(str(kind))}: {escape(str(text)[:300])}" if text else ""


def _plan(status: TaskStatus) -> str:
    if not status.plan:
        return ""
    words = status.plan_words or tuple(map(str, status.plan))
    steps = "".join(f"<li>{escape(step)}</li>" for step in words)
    changes = "".join(f"<br>{escape(line)}" for line in status.plan_changes)
    return f'<b>Plan</b>: {escape(status.plan_check)}{changes}<ol style="margin:0;padding-left:1.6em">{steps}</ol>'


def _numbers(status: TaskStatus) -> str:
    parts = [f"{status.elapsed:.1f} s", f"{status.executed} of {status.steps} actions done"]
    if status.corrections:
        parts.append(f"{status.corrections} corrections")
    if status.questions:
        parts.append(f"{status.questions} decisions by votes")
    if status.fallback:
        parts.append("the classical planner took over")
    return " · ".join(parts)


def _box(html: str) -> str:
    return f'<div style="padding:0.2em 1em;font-size:0.9em;line-height:1.45;overflow-wrap:anywhere">{html}</div>'
