"""A session of an agent over `planweave mcp`, as Markdown for docs/agents.md.

Usage: python tools/agent_session.py > session.md     (in the prepared environment, with the extra mcp)

Starts the tabletop system unless one runs. The agent is the rule `mended` below and no language model: its first plan
grasps a second cube before the first one is put down; of the refusal it reads what is needed, until when it held, and
which actions bring it about, and moves the next such step of its own plan there.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from planweave.cli.main import prepare_ros

SENTENCE = "put the red cube in the left tray and the blue cube in the right tray"
PLAN = [
    "grasp(red_cube)",
    "grasp(blue_cube)",
    "place_in(red_cube, left_tray)",
    "place_in(blue_cube, right_tray)",
]
SHOWN = 24  # lines of a result
_REFUSED_STEP = re.compile(r"step (\d+), ")
_ACHIEVERS = re.compile(r"bring it about: ([\w, ]+)")


def mended(plan: Sequence[str], refusal: str) -> list[str]:
    """The plan with its next step that brings the missing literal about moved before the refused step.

    Raises SystemExit where the refusal names no step or no action that would help.
    """
    step, achievers = _REFUSED_STEP.search(refusal), _ACHIEVERS.search(refusal)
    if not step or not achievers:
        raise SystemExit(f"the agent does not know how to mend this: {refusal}")
    at, able = int(step[1]) - 1, set(achievers[1].split(", "))
    helps = next((each for each in plan[at:] if each.partition("(")[0] in able), None)
    if helps is None:
        raise SystemExit(f"no later step of the plan is one of {', '.join(sorted(able))}")
    rest = [each for each in plan[at:] if each != helps]
    return [*plan[:at], helps, *rest]


async def session(agent: Any) -> None:
    """The session: observe, read the goal, a wrong plan, a mended one, run it, why."""

    async def call(name: str, **arguments: Any) -> str:
        result = await agent.call_tool(name, arguments)
        text = "\n".join(part.text for part in result.content if part.type == "text")
        show(name, arguments, text, result.is_error)
        for part in result.content:
            if part.type == "image":
                print(f"and a picture ({part.mime_type})\n")
        return text

    await call("observe")
    read = await call("read_goal", sentence=SENTENCE)
    goal, plan = read.splitlines()[1].removeprefix("| "), PLAN
    for _ in range(len(PLAN)):
        checked = await call("check_plan", plan=plan, goal=goal)
        if not checked.startswith("REFUSED"):
            break
        plan = mended(plan, checked)
    await call("run", sentence=SENTENCE, goal=goal, plan=plan, wait=300)
    await call("why")


def show(name: str, arguments: Mapping[str, Any], text: str, wrong: bool) -> None:
    """Print one call with its result."""
    lines = text.splitlines()
    left_out = [f"… ({len(lines) - SHOWN} more lines)"] if len(lines) > SHOWN else []
    said = "\n".join([*lines[:SHOWN], *left_out])
    print(f"**{name}** `{json.dumps(arguments)}`{' (an error)' if wrong else ''}\n\n```text\n{said}\n```\n", flush=True)


async def connected() -> None:
    """Start the server as an agent's program does, and hold the session."""
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=sys.executable, args=["-m", "planweave", "mcp"], env=dict(os.environ))
    async with Client(server, read_timeout_seconds=400) as agent:
        await session(agent)


def main() -> None:
    """Hold the session on the running system, or on one started for it."""
    prepare_ros()
    from rich.console import Console

    from planweave.cli.run import system_for

    with system_for("tabletop", None, Console(stderr=True)):
        asyncio.run(connected())


if __name__ == "__main__":
    main()
