"""Whole runs of the methods' loops with a recorded model and a body that the domain drives.

To record a cassette anew, start an endpoint, set OPENAI_BASE_URL and PLANWEAVE_MODEL, and run from the root (without
names: all of them):
PYTHONPATH=.:test python -m doubles.method_runs tabletop_progprompt household_blocking …
"""

import os
import sys
import threading
from pathlib import Path

from doubles.planner_worlds import BLOCKS
from doubles.scripted import SymbolicBody
from planweave.bodies.home import port
from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal
from planweave.llm.clients import choose_client
from planweave.methods import METHODS
from planweave.methods.language.planner import LanguagePlanner, PlannerSettings
from planweave.methods.running.episode import Episode
from planweave.methods.running.journal import Journal

FOLDER = Path(__file__).resolve().parents[1] / "cassettes"
HOME = Path(__file__).resolve().parent / "small_home.json"
SETTINGS = PlannerSettings(timeout=1500, samples=3, votes=1, proposals=3, exclude_actions=("grab_and_putin",))
ASKING = [name for name in METHODS if name != "classical"]  # it asks no model
TASKS = {
    "tabletop": ("put the red cube in the left tray", "in(red_cube, left_tray)"),
    "household": ("put the salmon in the fridge", "inside(salmon_6, fridge_4)"),
}
OPTIONS = {"scene_aware": {"samples": 3}, "zero_shot": {"samples": 3}}


class HomeBody(port.HomeBody):
    """The test home, with what was done in it."""

    def __init__(self):
        super().__init__(HOME)
        self.done = []

    def execute(self, action, **options):
        outcome = super().execute(action, **options)
        if outcome.ok:
            self.done.append(str(action))
        return outcome


def run(task, method, client):
    """One run; the episode and the body after it."""
    sentence, goal = TASKS[task]
    body = SymbolicBody(BLOCKS) if task == "tabletop" else HomeBody()
    episode = Episode(
        "",
        sentence,
        (Literal.parse(goal),),
        Domain.load(body.world.domain),
        LanguagePlanner(client, SETTINGS),
        body,
        Journal(),
    )
    METHODS[method](**OPTIONS.get(method, {})).run(episode)
    return episode, body


def _record(name):
    task, _, method = name.partition("_")
    path = FOLDER / f"{name}.jsonl"
    path.unlink(missing_ok=True)
    client = choose_client(os.environ, {"client": "openai", "record": str(path)})
    try:
        episode, body = run(task, method, client)
        left = [str(u) for u in body.world.unmet(episode.goal)]
        print(name, "goal left:", left, body.done, episode.message, flush=True)
    except PlanweaveError as error:
        print(name, "ended with", type(error).__name__, error, flush=True)
    lines = path.read_text(encoding="utf-8")
    path.write_text(
        "# Answered by hand by a reader who saw the requests only. Record anew after a change of prompts: "
        f"test/doubles/method_runs.py\n{lines}",
        encoding="utf-8",
    )


if __name__ == "__main__":
    threads = [
        threading.Thread(target=_record, args=(name,))
        for name in sys.argv[1:] or [f"{task}_{method}" for task in TASKS for method in ASKING]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
