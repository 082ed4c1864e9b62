"""A recorded episode as a text rendering: goal, tree of sampled plans, requests, steps, errors, result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from planweave.bench.models import is_simulated
from planweave.core.symbolic.plan import CountedPlan, PlanStep
from planweave.core.symbolic.world import Action
from planweave.core.trees.action_tree import TreeNode, build_tree

_QUIET = frozenset({"episode", "plan", "exchange", "action", "end", "world", "truth", "gcr"})


def drawing(events: Sequence[dict[str, Any]], texts: bool = False) -> list[RenderableType]:
    """The parts of the rendering, from top to bottom."""
    head, end = events[0], events[-1]
    tried = [(e["action"], e["code"]) for e in events if e["event"] == "action"]
    parts: list[RenderableType] = [_head(head)]
    plans = [e for e in events if e["event"] == "plan"]
    if plans:
        parts.append(_tree(plans, tried))
    parts.append(_steps(events, texts))
    parts.append(_end(end))
    return parts


def _head(head: dict[str, Any]) -> Panel:
    model = f"{head['model']} (simulated, no language model)" if is_simulated(head["model"]) else head["model"]
    lines = [
        f"[bold]{escape(head['sentence'])}[/bold]",
        f"suite {head['suite']}, task {head['case']}, scene {escape(head['scene'])}, repetition {head['repetition']}",
        f"method [bold]{escape(head['method'])}[/bold], model {escape(model)}",
        f"goal: {escape('; '.join(head['goal']) or 'actions in order')}",
        f"gold plan: {escape('; '.join(head['gold']))}",
    ]
    if head.get("fault"):
        fault = head["fault"]
        change = f": {'; '.join(fault['changes'])}" if fault["changes"] else f", {fault['times']} time(s)"
        lines.append(f"[yellow]fault: {fault['kind']} at {fault['action']}{escape(change)}[/yellow]")
    return Panel("\n".join(lines), title="episode", title_align="left")


def _tree(plans: Sequence[dict[str, Any]], tried: Sequence[tuple[str, str]]) -> Group:
    root = build_tree(CountedPlan(tuple(PlanStep(Action.parse(a)) for a in p["actions"]), p["samples"]) for p in plans)
    codes: dict[int, str] = {}  # of the nodes on the way that was taken
    node = root
    for action, code in tried:
        fork: TreeNode | None = node
        while fork is not None and Action.parse(action) not in fork.children:
            fork = fork.parent  # it went back to a fork, or this undoes a step
        if fork is not None:
            child = fork.children[Action.parse(action)]
            codes[id(child)] = code
            node = child if code == "SUCCESS" else fork
    drawn = Tree(f"sampled plans as a tree ({root.samples} samples)")

    def grow(node: TreeNode, branch: Tree) -> None:
        for child in sorted(node.children.values(), key=lambda c: -c.samples):
            name = "END" if child.action is None else str(child.action)
            code = codes.get(id(child))
            style = "green" if code == "SUCCESS" else "red" if code else "dim"
            grow(child, branch.add(Text(f"{name}  ×{child.samples}", style=style)))

    grow(root, drawn)
    return Group(drawn, Text("green: carried out, red: failed, grey: not tried\n", style="dim"))


def _steps(events: Sequence[dict[str, Any]], texts: bool) -> Table:
    table = Table(title="what happened", title_justify="left", expand=False, show_lines=False)
    for heading, justify in (("s", "right"), ("what", "left"), ("", "left"), ("tokens", "right")):
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for e in events:
        at = f"{e['at']:.2f}"
        if e["event"] == "exchange":
            usage = e.get("reply", {}).get("usage", {})
            count = f"{usage['prompt_tokens']:,} + {usage['completion_tokens']:,}" if usage else ""
            table.add_row(at, f"[blue]asks: {e['kind']}[/blue]", _asked(e, texts), count)
        elif e["event"] == "action":
            good = e["code"] == "SUCCESS"
            mark = "[green]✓[/green]" if good else "[red]✗[/red]"
            why = "" if e["why"] == "plan" else f" ({e['why']})"
            table.add_row(at, f"{mark} [bold]{escape(e['action'])}[/bold]{why}", _came_of(e, good), "")
        elif e["event"] not in _QUIET:
            told = {k: v for k, v in e.items() if k not in ("event", "at")}
            table.add_row(at, f"[dim]{escape(e['event'])}[/dim]", Text(_brief(told), style="dim"), "")
    return table


def _asked(exchange: dict[str, Any], texts: bool) -> Text:
    if texts:
        asked = "\n".join(f"[{m['role']}] {m['content']}" for m in exchange["request"]["messages"])
        replies = [r["text"] for r in exchange.get("reply", {}).get("replies", ())]
        return Text("\n".join([asked, *(f"[reply] {r}" for r in replies), str(exchange.get("error", ""))]))
    if "error" in exchange:
        return Text(str(exchange["error"]), style="red")
    replies = exchange["reply"]["replies"]
    first = " ".join(replies[0]["text"].split()) if replies else ""
    return Text(f"{len(replies)} × " * (len(replies) > 1) + (first if len(first) < 110 else first[:110] + "…"))


def _came_of(event: dict[str, Any], good: bool) -> Text:
    if not good:
        return Text(f"{event['code']}: {event['message']}", style="red")
    changes = [f"+ {f}" for f in event["added"]] + [f"- {f}" for f in event["removed"]]
    shown = ", ".join(changes[:5])
    return Text(shown + (f", … {len(changes)} changes" if len(changes) > 5 else "") or "nothing changed", style="dim")


def _brief(told: dict[str, Any]) -> str:
    text = ", ".join(f"{k}: {v}" for k, v in told.items())
    return text if len(text) < 160 else text[:160] + "…"


def _end(end: dict[str, Any]) -> Panel:
    m = end["measures"]
    lines = [
        f"{'[green]✓[/green]' if holds else '[red]✗[/red]'} {escape(name)}" for name, holds in end["conditions"].items()
    ]
    if end["error"]:
        lines.append(f"[red]ended by {end['kind']}: {escape(end['error'])}[/red]")
    if end.get("message"):
        lines.append(f"last message: {escape(end['message'])}")
    cost = "unknown" if m["cost"] is None else f"${m['cost']:.4f}"
    lines += [
        f"{m['actions']} actions tried, {m['corrections']} corrections, {m['requests']} questions",
        f"{m['prompt_tokens']:,} tokens read ({m['cached_tokens']:,} cached), {m['completion_tokens']:,} written, "
        f"cost {cost}",
        f"{m['model_seconds']:.3f} s model, {m['body_seconds']:.3f} s body, {m['our_seconds']:.3f} s ours",
    ]
    if end.get("details"):
        lines.append(escape(_brief(end["details"])))
    title = (
        "void: it says nothing about the method"
        if end["void"]
        else ("the goal holds" if m["sr"] == 1 else "the goal does not hold")
    )
    return Panel(
        "\n".join(lines),
        title=title,
        title_align="left",
        border_style="yellow" if end["void"] else "green" if m["sr"] == 1 else "red",
    )
