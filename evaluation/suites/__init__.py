"""The suites of `planweave bench`: one file each, and this table."""

from evaluation.suites.case import Case, Stage, Suite
from evaluation.suites.eai import EaiSuite
from evaluation.suites.faulty import FaultSuite
from evaluation.suites.home import HomeSuite

SUITES: dict[str, Suite] = {suite.name: suite for suite in (HomeSuite(), EaiSuite(), FaultSuite())}

__all__ = ["SUITES", "Case", "Stage", "Suite"]
