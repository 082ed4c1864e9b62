"""The suites of `planweave bench`: one file each, and this table."""

from planweave.bench.suites.case import Case, Stage, Suite
from planweave.bench.suites.eai import EaiSuite
from planweave.bench.suites.faulty import FaultSuite
from planweave.bench.suites.home import HomeSuite
from planweave_ros.tabletop_suite import TabletopSuite

SUITES: dict[str, Suite] = {suite.name: suite for suite in (HomeSuite(), EaiSuite(), FaultSuite(), TabletopSuite())}

__all__ = ["SUITES", "Case", "Stage", "Suite"]
