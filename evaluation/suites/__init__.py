"""The suites of `planweave bench`: one file each, and this table."""

from evaluation.suites.case import Case, Stage, Suite
from evaluation.suites.eai import EaiSuite
from evaluation.suites.faulty import FaultSuite
from evaluation.suites.home import HomeSuite
from evaluation.suites.tabletop import TabletopSuite

SUITES: dict[str, Suite] = {suite.name: suite for suite in (HomeSuite(), EaiSuite(), FaultSuite(), TabletopSuite())}

__all__ = ["SUITES", "Case", "Stage", "Suite"]
