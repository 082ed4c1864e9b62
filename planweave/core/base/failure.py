"""Failure codes: one enum for ExecuteAction, the planning loops and reports."""

from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """Outcome of one executed action. The numbers are those of ExecuteAction.action."""

    SUCCESS = 0
    INVALID_ACTION = 1
    UNKNOWN_OBJECT = 2
    PRECONDITION_UNMET = 3
    UNREACHABLE = 4
    NO_GRASP = 5
    PLANNING_FAILED = 6
    COLLISION = 7
    GRASP_LOST = 8
    CONTROL_FAILED = 9
    TIMEOUT = 10
    CANCELED = 11
    SAFETY_STOP = 12
    NOT_STARTED = 13


#: Failures after which a method may try the same action again in the same world: the gripper closed on nothing,
#: sampling found no path in time, the controller aborted, the time was over. All others come again until something else
#: is done; after GRASP_LOST the thing lies elsewhere.
TRANSIENT = frozenset({Code.NO_GRASP, Code.PLANNING_FAILED, Code.CONTROL_FAILED, Code.TIMEOUT})
