"""Console script of every node, started by `ros2 run planweave planner_node` or a launch file.

Under a Python without Planweave's packages it prints one line and exits with 2, which launch files do not restart.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from planweave.core.base.errors import ConfigError

MISTAKE = 2


def main() -> None:
    """Run the node named like this program, and exit with its code."""
    name = Path(sys.argv[0]).name
    try:
        node = importlib.import_module(f"{name}.node")
        importlib.import_module("planweave_ros.interface_check").require_current()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing != "planweave_interfaces" and (Path(__file__).resolve().parent.parent / missing).is_dir():
            raise  # a fault of ours
        print(f"{name}: {advice(missing)}", file=sys.stderr)
        raise SystemExit(MISTAKE) from None
    except ConfigError as error:
        print(f"{name}: {error}", file=sys.stderr)
        raise SystemExit(MISTAKE) from None
    raise SystemExit(node.main())


def advice(missing: str) -> str:
    if missing == "planweave_interfaces":
        return (
            "planweave_interfaces is not found. colcon does not look for packages inside a package: in the workspace "
            "run  ln -s planweave/interfaces src/planweave_interfaces  and  colcon build,  then source "
            "install/setup.bash (README.md, In a ROS 2 workspace)"
        )
    return (
        f"{sys.executable} has no module {missing}. Run  make setup  in Planweave's folder, then  "
        ". .venv/planweave.sh  in this shell, and build the workspace again: nodes run under the Python that builds "
        "them (README.md, In a ROS 2 workspace)"
    )
