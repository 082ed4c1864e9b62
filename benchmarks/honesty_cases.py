"""The honesty cases as data: what is on the table, what a person does to it, and the goal; see bench_honesty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Spot = tuple[float, float, float]
AWAY: Spot = (math.nan, math.nan, math.nan)  # off the table


@dataclass(frozen=True)
class Interference:
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


Act = Interference | Signal | Wait | Reload


@dataclass(frozen=True)
class HonestyCase:
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
_MORE_LATER = Interference(move={"blue_cube": AWAY})
_IN = "in(red_cube, left_tray)"
_BOTH = "in(red_cube, left_tray) & in(yellow_cube, right_tray)"
_TAKEN = {"red_cube": AWAY}
_OUT = {"red_cube": (0.45, 0.25, 0.0)}
_BLIND = Interference(camera=False)
_SWAP = ("red_cube", "yellow_cube")
_STOP, _GO = Signal("perception_node", "stop"), Signal("perception_node", "continue")

CASES = (
    # Nobody interferes.
    HonestyCase("undisturbed", _APART, _IN),
    HonestyCase("two_undisturbed", _APART, _BOTH, only_bench=True),
    HonestyCase("holds_already", _DONE, _IN),
    HonestyCase("tower_holds_already", _TOWER, "on(yellow_cube, red_cube)", only_bench=True),
    # It held already, but the camera is silent.
    HonestyCase("silent_nothing_changed", _DONE, _IN, (_BLIND,), blind=True),
    HonestyCase("silent_then_taken", _DONE, _IN, (Interference(move=_TAKEN, camera=False),)),
    HonestyCase("silent_then_taken_later", _DONE, _IN, (_BLIND, Wait(2.5), Interference(move=_TAKEN)), only_bench=True),
    HonestyCase("silent_moved_beside", _DONE, _IN, (_BLIND, Interference(move=_OUT)), only_bench=True),
    HonestyCase(
        "silent_exchanged_seen_again",
        _DONE,
        _IN,
        (_BLIND, Interference(exchange=_SWAP), Interference(camera=True)),
        only_bench=True,
    ),
    # The camera falls silent while the robot works.
    HonestyCase("silent_from_lift", _APART, _IN, (Interference("lift", camera=False),), blind=True),
    HonestyCase(
        "silent_and_taken_at_carry", _APART, _IN, (Interference("carry", move=_TAKEN, camera=False),), only_bench=True
    ),
    HonestyCase(
        "silent_and_taken_at_release",
        _APART,
        _IN,
        (Interference("release", move=_TAKEN, camera=False),),
        only_bench=True,
    ),
    HonestyCase(
        "silent_from_release", _APART, _IN, (Interference("release", camera=False),), blind=True, only_bench=True
    ),
    # Perception stands still, or begins anew.
    HonestyCase(
        "perception_stopped_then_taken", _DONE, _IN, (_STOP, Interference(move=_TAKEN)), blind=True, only_bench=True
    ),
    HonestyCase(
        "perception_stopped_while_lifting", _APART, _IN, (Interference("release", move=_TAKEN),), (_STOP,), blind=True
    ),
    HonestyCase(
        "perception_stopped_and_continued",
        _DONE,
        _IN,
        (_STOP, Interference(move=_OUT), Wait(2.0), _GO),
        only_bench=True,
    ),
    HonestyCase(
        "perception_restarted", _DONE, _IN, (_STOP, Interference(exchange=_SWAP), Signal("perception_node", "restart"))
    ),
    # Another thing in its place, the camera working.
    HonestyCase("exchanged_before", _DONE, _IN, (Interference(exchange=_SWAP),)),
    HonestyCase(
        "another_in_its_place", _DONE, _IN, (Interference(move={"red_cube": AWAY, "yellow_cube": (*_LEFT, _FLOOR)}),)
    ),
    HonestyCase(
        "another_a_centimetre_beside",
        _DONE,
        _IN,
        (Interference(move={"red_cube": AWAY, "yellow_cube": (_LEFT[0] + 0.01, _LEFT[1], _FLOOR)}), Wait(3.0)),
    ),
    HonestyCase("another_grasped", _APART, _IN, (Interference("grasp", exchange=_SWAP),)),
    HonestyCase("another_put_into_the_hand", _APART, _IN, (Interference("carry", exchange=_SWAP),), only_bench=True),
    HonestyCase("exchanged_after_release", _APART, _IN, (Interference("retreat", exchange=_SWAP),)),
    HonestyCase("lower_cube_vanished", _TOWER, _IN, (Interference(move=_TAKEN),)),
    HonestyCase(
        "lower_cube_vanished_a_while_ago", _TOWER, _IN, (Interference(move=_TAKEN), Wait(3.0)), only_bench=True
    ),
    HonestyCase(
        "lower_cube_vanished_from_a_tower",
        _TOWER,
        "on(yellow_cube, red_cube)",
        (Interference(move=_TAKEN),),
        only_bench=True,
    ),
    HonestyCase(
        "lower_cube_exchanged",
        _TOWER,
        "on(yellow_cube, red_cube)",
        (Interference(exchange=("red_cube", "green_cube")),),
        only_bench=True,
    ),
    # Taken away, the camera working.
    *(
        HonestyCase(
            f"taken_at_{m}",
            _APART,
            _IN,
            (Interference(m, move=_TAKEN),),
            only_bench=m in ("grasp", "lift", "place", "release"),
        )
        for m in ("approach", "grasp", "lift", "carry", "place", "release", "retreat")
    ),
    HonestyCase("taken_out_before", _DONE, _IN, (Interference(move=_OUT),), only_bench=True),
    HonestyCase("pushed_off_the_table", _APART, _IN, (Interference(move=_TAKEN),), only_bench=True),
    HonestyCase(
        "first_taken_while_second_is_carried",
        _APART,
        _BOTH,
        (Interference("carry", "yellow_cube", _TAKEN),),
        only_bench=True,
    ),
    HonestyCase(
        "first_taken_while_second_is_verified", _APART, _BOTH, (Interference("retreat", "yellow_cube", _TAKEN),)
    ),
    HonestyCase(
        "tray_taken_from_under_it", _DONE, _IN, (Interference(move={"left_tray": (0.40, 0.45, 0.0)}),), only_bench=True
    ),
    # Taken out of the hand that carries the second thing, or exchanged in it.
    HonestyCase(
        "second_taken_from_the_hand", _APART, _BOTH, (Interference("carry", "yellow_cube", {"yellow_cube": AWAY}),)
    ),
    HonestyCase(
        "second_taken_and_laid_down",
        _APART,
        _BOTH,
        (Interference("carry", "yellow_cube", {"yellow_cube": (*_SPOT, 0.0)}),),
        only_bench=True,
    ),
    HonestyCase(
        "second_exchanged_in_the_hand",
        _APART,
        _BOTH,
        (Interference("carry", "yellow_cube", exchange=_SWAP),),
        only_bench=True,
    ),
    # A thing is added while the robot works.
    HonestyCase(
        "added_beside",
        _MORE,
        _IN,
        (_MORE_LATER, Wait(3.0), Interference("carry", move={"blue_cube": (0.40, 0.25, 0.0)})),
        only_bench=True,
    ),
    HonestyCase(
        "added_where_it_goes",
        _MORE,
        _IN,
        (_MORE_LATER, Wait(3.0), Interference("lift", move={"blue_cube": (*_LEFT, _FLOOR)})),
    ),
    HonestyCase(
        "added_where_it_was",
        _MORE,
        _IN,
        (_MORE_LATER, Wait(3.0), Interference("carry", move={"blue_cube": (*_SPOT, 0.0)})),
        only_bench=True,
    ),
    HonestyCase(
        "added_on_top",
        _MORE,
        _IN,
        (_MORE_LATER, Wait(3.0), Interference("retreat", move={"blue_cube": (*_LEFT, _FLOOR + 0.05)})),
        only_bench=True,
    ),
    # Equal things, and another scene.
    HonestyCase("one_of_two_equal_taken", _TWINS, _IN, (Interference(move=_TAKEN),)),
    HonestyCase("scene_reloaded_while_lifting", _APART, _IN, (), (Reload(),)),
    HonestyCase("put_back_after_release", _APART, _IN, (Interference("release", move={"red_cube": (*_SPOT, 0.0)}),)),
)
