"""An agent on the running tabletop system, with the client of the protocol's own SDK."""

import asyncio
import importlib.util
import re

import pytest
from rich.console import Console
from ros_fixtures import PATIENT

from planweave.cli import agent_tools
from planweave.cli.agent_tools import AgentTools
from planweave.cli.run import started

GOAL = "in(red_cube, left_tray)"
WRONG = ["place_in(red_cube, left_tray)"]
MENDED = ["grasp(red_cube)", *WRONG]
VALUES = {f"{node}.{name}": str(value) for node, values in PATIENT.items() for name, value in values.items()}
APPROVED = {f"{node}.require_approval": "true" for node in ("feedback_node", "executor_node")}


@pytest.fixture
def tools(monkeypatch, spin_until):
    monkeypatch.setattr(agent_tools, "_PICTURE", 60.0)  # a busy machine renders late
    with started("tabletop", VALUES | APPROVED, Console(quiet=True), timeout=180.0) as (client, _):
        spin_until(
            lambda: "red_cube" in getattr(client.world(1.0), "by_name", ()), 60, "the camera to have seen the table"
        )
        made = AgentTools(client, may_approve=True)
        try:
            yield made
        finally:
            made.close()


@pytest.mark.gl
@pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="the extra mcp is not installed")
def test_an_agent_has_a_wrong_plan_refused_and_the_mended_one_approved_and_carried_out(ros, tools):
    from mcp import Client as Agent

    from planweave.cli.mcp_server import make_server

    async def talk():
        async with Agent(make_server(tools), raise_exceptions=True) as agent:

            async def call(name, **arguments):
                result = await agent.call_tool(name, arguments)
                return result, result.content[0].text

            seen, words = await call("observe")
            assert "| red_cube: item" in words and seen.content[1].type == "image"
            _, read = await call("read_goal", sentence="put the red cube in the left tray")
            assert f"| {GOAL}" in read
            _, refused = await call("check_plan", plan=WRONG, goal=GOAL)
            assert refused.startswith("REFUSED") and "holding(red_cube) does not hold (achieved by grasp)" in refused
            _, failed = await call("run", goal=GOAL, plan=WRONG)
            assert "FAILED" in failed and "holding(red_cube) does not hold" in failed
            _, planned = await call("plan", goal=GOAL, method="classical")
            assert "nothing was moved" in planned and "left_tray" in planned
            _, asked = await call("run", goal=GOAL, plan=MENDED, wait=300)
            assert "AWAITING APPROVAL" in asked and "| 1. pick up the red cube" in asked
            task_id, plan_hash = asked.split()[0], re.search(r"plan_hash: (\w+)", asked)[1]
            other, _ = await call("answer", task_id=task_id, plan_hash="0123456789ab", approve=True)
            assert other.is_error
            await call("answer", task_id=task_id, plan_hash=plan_hash, approve=True)
            _, done = await call("status", task_id=task_id, wait=300)
            assert "SUCCEEDED: the goal was observed to hold" in done and "2 of 2 actions succeeded" in done
            assert "approved by an agent of" in done
            unknown, _ = await call("cancel")
            assert unknown.is_error

    asyncio.run(asyncio.wait_for(talk(), 400.0))
