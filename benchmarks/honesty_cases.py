"""The honesty cases as data: what is on the table, what a person does to it, and the goal; see bench_honesty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Spot = tuple[float, float, float]
AWAY: Spot = (math.nan, math.nan, math.nan)  # off the table


@dataclass(frozen=True)
class Hand:
    """A person moves objects (AWAY: takes them off the table) or exchanges them, at once or at a moment of the robot's
    handling of `watch`. Objects by the names that the camera gives them at first. camera: whether it gives images from
    then on.
    """

    when: str = ""
    watch: str = "red_cube"
    move: Mapping[str, Spot] = field(default_factory=dict)
    exchange: tuple[str, ...] = ()
    camera: bool | None = None


@dataclass(frozen=True)
class Signal:
    """A node is stopped (SIGSTOP), continued, or killed and started anew."""

    node: str
    what: str  # stop, continue, restart


@dataclass(frozen=True)
class Wait:
    """Seconds of wall time go by."""

    seconds: float


@dataclass(frozen=True)
class Reload:
    """Somebody wants to load the scene anew, and does not tell perception."""


Act = Hand | Signal | Wait | Reload


@dataclass(frozen=True)
class Case:
    """Acts before the task, the goal, and acts while it runs, which begin once the arm has moved `lifted` up.

    table: objects of the scene by name. blind: nothing could show the goal at the end, so a task that ends without
    success, though it holds, is right. only_bench: one of several alike, left out of the tests.
    """

    id: str
    table: Mapping[str, Mapping[str, Any]]
    goal: str
    before: tuple[Act, ...] = ()
    during: tuple[Act, ...] = ()
    lifted: str = "red_cube"
    blind: bool = False
    only_bench: bool = False


# ---- the cases -----------------------------------------------------------------------------------------------------

_LEFT, _RIGHT = (0.58, 0.38), (0.58, -0.38)
_SPOT, _OTHER = (0.50, -0.12), (0.62, 0.10)
_FLOOR = 0.006  # of a tray, m


def _cube(colour: str, x: float, y: float, z: float = 0.0) -> dict[str, Any]:
    return {"kind": "cube", "colour": colour, "position": [x, y, z]}


def _tray(x: float, y: float) -> dict[str, Any]:
    return {"kind": "tray", "colour": "gray", "position": [x, y]}


_TRAYS = {"left_tray": _tray(*_LEFT), "right_tray": _tray(*_RIGHT)}
_APART = {"red_cube": _cube("red", *_SPOT), "yellow_cube": _cube("yellow", *_OTHER), **_TRAYS}
_DONE = {"red_cube": _cube("red", *_LEFT, _FLOOR), "yellow_cube": _cube("yellow", *_OTHER), **_TRAYS}
_TOWER = {
    "red_cube": _cube("red", *_LEFT, _FLOOR),
    "yellow_cube": _cube("yellow", *_LEFT, _FLOOR + 0.05),
    "green_cube": _cube("green", *_SPOT),
    **_TRAYS,
}
_TWINS = {"red_cube": _cube("red", *_LEFT, _FLOOR), "red_cube_2": _cube("red", *_SPOT), **_TRAYS}
_MORE = {**_APART, "blue_cube": _cube("blue", 0.40, 0.25)}
_MORE_LATER = Hand(move={"blue_cube": AWAY})
_IN = "in(red_cube, left_tray)"
_BOTH = "in(red_cube, left_tray) & in(yellow_cube, right_tray)"
_TAKEN = {"red_cube": AWAY}
_OUT = {"red_cube": (0.45, 0.25, 0.0)}
_BLIND = Hand(camera=False)
_SWAP = ("red_cube", "yellow_cube")
_STOP, _GO = Signal("perception_node", "stop"), Signal("perception_node", "continue")

CASES = (
    # Nobody interferes.
    Case("undisturbed", _APART, _IN),
    Case("two_undisturbed", _APART, _BOTH, only_bench=True),
    Case("holds_already", _DONE, _IN),
    Case("tower_holds_already", _TOWER, "on(yellow_cube, red_cube)", only_bench=True),
    # It held already, but the camera is silent.
    Case("silent_nothing_changed", _DONE, _IN, (_BLIND,), blind=True),
    Case("silent_then_taken", _DONE, _IN, (Hand(move=_TAKEN, camera=False),)),
    Case("silent_then_taken_later", _DONE, _IN, (_BLIND, Wait(2.5), Hand(move=_TAKEN)), only_bench=True),
    Case("silent_moved_beside", _DONE, _IN, (_BLIND, Hand(move=_OUT)), only_bench=True),
    Case("silent_exchanged_seen_again", _DONE, _IN, (_BLIND, Hand(exchange=_SWAP), Hand(camera=True)), only_bench=True),
    # The camera falls silent while the robot works.
    Case("silent_from_lift", _APART, _IN, (Hand("lift", camera=False),), blind=True),
    Case("silent_and_taken_at_carry", _APART, _IN, (Hand("carry", move=_TAKEN, camera=False),), only_bench=True),
    Case("silent_and_taken_at_release", _APART, _IN, (Hand("release", move=_TAKEN, camera=False),), only_bench=True),
    Case("silent_from_release", _APART, _IN, (Hand("release", camera=False),), blind=True, only_bench=True),
    # Perception stands still, or begins anew.
    Case("perception_stopped_then_taken", _DONE, _IN, (_STOP, Hand(move=_TAKEN)), blind=True, only_bench=True),
    Case("perception_stopped_while_lifting", _APART, _IN, (Hand("release", move=_TAKEN),), (_STOP,), blind=True),
    Case("perception_stopped_and_continued", _DONE, _IN, (_STOP, Hand(move=_OUT), Wait(2.0), _GO), only_bench=True),
    Case("perception_restarted", _DONE, _IN, (_STOP, Hand(exchange=_SWAP), Signal("perception_node", "restart"))),
    # Another thing in its place, the camera working.
    Case("exchanged_before", _DONE, _IN, (Hand(exchange=_SWAP),)),
    Case("another_in_its_place", _DONE, _IN, (Hand(move={"red_cube": AWAY, "yellow_cube": (*_LEFT, _FLOOR)}),)),
    Case(
        "another_a_centimetre_beside",
        _DONE,
        _IN,
        (Hand(move={"red_cube": AWAY, "yellow_cube": (_LEFT[0] + 0.01, _LEFT[1], _FLOOR)}), Wait(3.0)),
    ),
    Case("another_grasped", _APART, _IN, (Hand("grasp", exchange=_SWAP),)),
    Case("another_put_into_the_hand", _APART, _IN, (Hand("carry", exchange=_SWAP),), only_bench=True),
    Case("exchanged_after_release", _APART, _IN, (Hand("retreat", exchange=_SWAP),)),
    Case("lower_cube_vanished", _TOWER, _IN, (Hand(move=_TAKEN),)),
    Case("lower_cube_vanished_a_while_ago", _TOWER, _IN, (Hand(move=_TAKEN), Wait(3.0)), only_bench=True),
    Case(
        "lower_cube_vanished_from_a_tower", _TOWER, "on(yellow_cube, red_cube)", (Hand(move=_TAKEN),), only_bench=True
    ),
    Case(
        "lower_cube_exchanged",
        _TOWER,
        "on(yellow_cube, red_cube)",
        (Hand(exchange=("red_cube", "green_cube")),),
        only_bench=True,
    ),
    # Taken away, the camera working.
    *(
        Case(
            f"taken_at_{m}", _APART, _IN, (Hand(m, move=_TAKEN),), only_bench=m in ("grasp", "lift", "place", "release")
        )
        for m in ("approach", "grasp", "lift", "carry", "place", "release", "retreat")
    ),
    Case("taken_out_before", _DONE, _IN, (Hand(move=_OUT),), only_bench=True),
    Case("pushed_off_the_table", _APART, _IN, (Hand(move=_TAKEN),), only_bench=True),
    Case(
        "first_taken_while_second_is_carried", _APART, _BOTH, (Hand("carry", "yellow_cube", _TAKEN),), only_bench=True
    ),
    Case("first_taken_while_second_is_verified", _APART, _BOTH, (Hand("retreat", "yellow_cube", _TAKEN),)),
    Case("tray_taken_from_under_it", _DONE, _IN, (Hand(move={"left_tray": (0.40, 0.45, 0.0)}),), only_bench=True),
    # Taken out of the hand that carries the second thing, or exchanged in it.
    Case("second_taken_from_the_hand", _APART, _BOTH, (Hand("carry", "yellow_cube", {"yellow_cube": AWAY}),)),
    Case(
        "second_taken_and_laid_down",
        _APART,
        _BOTH,
        (Hand("carry", "yellow_cube", {"yellow_cube": (*_SPOT, 0.0)}),),
        only_bench=True,
    ),
    Case(
        "second_exchanged_in_the_hand", _APART, _BOTH, (Hand("carry", "yellow_cube", exchange=_SWAP),), only_bench=True
    ),
    # A thing is added while the robot works.
    Case(
        "added_beside",
        _MORE,
        _IN,
        (_MORE_LATER, Wait(3.0), Hand("carry", move={"blue_cube": (0.40, 0.25, 0.0)})),
        only_bench=True,
    ),
    Case(
        "added_where_it_goes", _MORE, _IN, (_MORE_LATER, Wait(3.0), Hand("lift", move={"blue_cube": (*_LEFT, _FLOOR)}))
    ),
    Case(
        "added_where_it_was",
        _MORE,
        _IN,
        (_MORE_LATER, Wait(3.0), Hand("carry", move={"blue_cube": (*_SPOT, 0.0)})),
        only_bench=True,
    ),
    Case(
        "added_on_top",
        _MORE,
        _IN,
        (_MORE_LATER, Wait(3.0), Hand("retreat", move={"blue_cube": (*_LEFT, _FLOOR + 0.05)})),
        only_bench=True,
    ),
    # Equal things, and another scene.
    Case("one_of_two_equal_taken", _TWINS, _IN, (Hand(move=_TAKEN),)),
    Case("scene_reloaded_while_lifting", _APART, _IN, (), (Reload(),)),
    Case("put_back_after_release", _APART, _IN, (Hand("release", move={"red_cube": (*_SPOT, 0.0)}),)),
)
