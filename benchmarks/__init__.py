"""Figures of this project; not installed. python -m benchmarks"""

import sys
from pathlib import Path

# The doubles of the tests play robots, servers and worlds here, too: from doubles.… import …
sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))
