"""Failure codes: one enum for ExecuteAction, the planning loops and reports."""

from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """Outcome of one executed action. The numbers are those of ExecuteAction.action."""

    SUCCESS = 0
    """Done, and seen to be done."""
    INVALID_ACTION = 1
    """Not an action of the domain, wrong number or type of arguments, or against a rule or `actions_off`."""
    UNKNOWN_OBJECT = 2
    """Names an object that the body does not know."""
    PRECONDITION_UNMET = 3
    """The literals in `unmet` do not hold."""
    UNREACHABLE = 4
    """Outside the workspace, or no joint solution."""
    NO_GRASP = 5
    """No grasp found, or the gripper closed on nothing."""
    PLANNING_FAILED = 6
    """No collision-free motion found in time."""
    COLLISION = 7
    """The arm touched something (a joint held off its path); or the planned motion would, or it stands in what it must
    not touch: then nothing was moved.
    """
    GRASP_LOST = 8
    """The object is not where the action was to bring it: it slipped, was let go and is seen elsewhere, or did not come
    along.
    """
    CONTROL_FAILED = 9
    """The controller or simulator did not carry out the motion; or a look after it does not show the effect."""
    TIMEOUT = 10
    """The deadline passed; the body was stopped."""
    CANCELED = 11
    """Cancelled by the sender; the body stands."""
    SAFETY_STOP = 12
    """A limit, a person, the robot itself (reflex, protective stop) or another client of its controllers stopped the
    body; or it was told to stop, and is not known to stand.
    """
    NOT_STARTED = 13
    """It must not begin: not approved, not active, two systems, an unknown sender, no joint states, no controllers;
    nothing was moved.
    """

    @property
    def word(self) -> str:
        """Its name as the `code` of errors, refusals and tasks: no_grasp."""
        return self.name.lower()


#: Failures after which a method may try the same action again in the same world: the gripper closed on nothing,
#: sampling found no path in time, the controller aborted, the time was over. All others come again until something else
#: is done; after GRASP_LOST the thing lies elsewhere.
TRANSIENT = frozenset({Code.NO_GRASP, Code.PLANNING_FAILED, Code.CONTROL_FAILED, Code.TIMEOUT})
