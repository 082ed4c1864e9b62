"""Serve the running system to an agent over the Model Context Protocol: observe, read_goal, check_plan, plan, run,
status, answer, why, cancel. See docs/agents.md.

The agent is a client like any other: plans are checked, approval is asked for, and success is what the camera has seen.
Tasks that it started are cancelled when the server ends. Over HTTP the server listens on 127.0.0.1 only, and asks for
the token in PLANWEAVE_MCP_TOKEN.

examples:
  planweave up tabletop                  # in another shell
  planweave mcp                          # over standard input and output, started by the agent's program
  PLANWEAVE_MCP_TOKEN=$(openssl rand -hex 16) planweave mcp --http 8765    # http://127.0.0.1:8765/mcp
"""

from __future__ import annotations

import argparse
import importlib.util
import os

from planweave.core.base.errors import ConfigError, MissingExtraError

JOINS = False
TOKEN = "PLANWEAVE_MCP_TOKEN"
SHORTEST_TOKEN = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http", type=int, metavar="PORT", help=f"serve HTTP on 127.0.0.1 in place of stdio; needs {TOKEN}"
    )
    parser.add_argument(
        "--may-approve",
        action="store_true",
        help="let the agent approve plans; else only a person does, and it may refuse",
    )


def main(options: argparse.Namespace) -> int:
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtraError("planweave mcp", "mcp")
    token = _token() if options.http is not None else ""
    from planweave.cli.agent_tools import AgentTools
    from planweave.cli.mcp_server import make_server, serve_http
    from planweave_ros.lasting_client import LastingClient

    with LastingClient() as client:
        tools = AgentTools(client, options.may_approve)
        try:
            server = make_server(tools)
            if options.http is None:
                server.run("stdio")
            else:
                serve_http(server, options.http, token)
        finally:
            tools.close()
    return 0


def _token() -> str:
    token = os.environ.get(TOKEN, "")
    if len(token) < SHORTEST_TOKEN:
        raise ConfigError(
            f"--http needs a secret of at least {SHORTEST_TOKEN} characters in {TOKEN}: "
            f"export {TOKEN}=$(openssl rand -hex 16)"
        )
    return token
