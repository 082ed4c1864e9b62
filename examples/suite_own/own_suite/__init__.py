"""Suite `own_home`: tasks.yaml, in the home of home.json."""

from pathlib import Path

from planweave.bench.suites.home import HomeSuite


class OwnSuite(HomeSuite):
    """The tasks of tasks.yaml beside this file."""

    name = "own_home"
    description = "two tasks in a home of one's own"
    tasks = Path(__file__).resolve().parent / "tasks.yaml"
