"""The honesty cases as data: what is on the table, what a person does to it, and the goal; see honesty.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
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
    """A reload of the scene that perception is not told of."""


Act = Interference | Signal | Wait | Reload


@dataclass(frozen=True)
class HonestyCase:
    """Acts before the task, the goal, and acts while it runs, which begin once the arm has moved `lifted` up.

    table: objects of the scene by name. blind: nothing could show the goal at the end, so a task that ends without
    success, though it holds, is right. only_bench: left out of the tests, as one of several alike or
    one whose success would be true.
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
_IN, _ON = "in(red_cube, left_tray)", "on(yellow_cube, red_cube)"
_BOTH = "in(red_cube, left_tray) & in(yellow_cube, right_tray)"
_TAKEN = {"red_cube": AWAY}
_OUT = {"red_cube": (0.45, 0.25, 0.0)}
_BLIND = Interference(camera=False)
_SWAP = ("red_cube", "yellow_cube")
_STOP, _GO = Signal("perception_node", "stop"), Signal("perception_node", "continue")


def _case(name: str, table: Mapping[str, Any], goal: str, *before: Act, **more: Any) -> HonestyCase:
    return HonestyCase(name, table, goal, before, **more)


_bench = partial(_case, only_bench=True)

CASES = (
    # Nobody interferes.
    _bench("undisturbed", _APART, _IN),
    _bench("two_undisturbed", _APART, _BOTH),
    _case("holds_already", _DONE, _IN),
    _bench("tower_holds_already", _TOWER, _ON),
    # It held already, but the camera is silent.
    _bench("silent_nothing_changed", _DONE, _IN, _BLIND, blind=True),
    _case("silent_then_taken", _DONE, _IN, Interference(move=_TAKEN, camera=False)),
    _bench("silent_then_taken_later", _DONE, _IN, _BLIND, Wait(2.5), Interference(move=_TAKEN)),
    _bench("silent_moved_beside", _DONE, _IN, _BLIND, Interference(move=_OUT)),
    _bench("silent_exchanged_seen_again", _DONE, _IN, _BLIND, Interference(exchange=_SWAP), Interference(camera=True)),
    # The camera falls silent while the robot works.
    _bench("silent_from_lift", _APART, _IN, Interference("lift", camera=False), blind=True),
    _bench("silent_and_taken_at_carry", _APART, _IN, Interference("carry", move=_TAKEN, camera=False)),
    _bench("silent_and_taken_at_release", _APART, _IN, Interference("release", move=_TAKEN, camera=False)),
    _bench("silent_from_release", _APART, _IN, Interference("release", camera=False), blind=True),
    # Perception stands still, or begins anew.
    _bench("perception_stopped_then_taken", _DONE, _IN, _STOP, Interference(move=_TAKEN), blind=True),
    _case(
        "perception_stopped_while_lifting",
        _APART,
        _IN,
        Interference("release", move=_TAKEN),
        during=(_STOP,),
        blind=True,
    ),
    _bench("perception_stopped_and_continued", _DONE, _IN, _STOP, Interference(move=_OUT), Wait(2.0), _GO),
    _case(
        "perception_restarted", _DONE, _IN, _STOP, Interference(exchange=_SWAP), Signal("perception_node", "restart")
    ),
    # Another thing in its place, the camera working.
    _bench("exchanged_before", _DONE, _IN, Interference(exchange=_SWAP)),
    _bench("another_in_its_place", _DONE, _IN, Interference(move={**_TAKEN, "yellow_cube": (*_LEFT, _FLOOR)})),
    _case(
        "another_a_centimetre_beside",
        _DONE,
        _IN,
        Interference(move={**_TAKEN, "yellow_cube": (_LEFT[0] + 0.01, _LEFT[1], _FLOOR)}),
        Wait(3.0),
    ),
    _case("another_grasped", _APART, _IN, Interference("grasp", exchange=_SWAP)),
    _bench("another_put_into_the_hand", _APART, _IN, Interference("carry", exchange=_SWAP)),
    _case("exchanged_after_release", _APART, _IN, Interference("retreat", exchange=_SWAP)),
    _case("lower_cube_vanished", _TOWER, _IN, Interference(move=_TAKEN)),
    _bench("lower_cube_vanished_a_while_ago", _TOWER, _IN, Interference(move=_TAKEN), Wait(3.0)),
    _bench("lower_cube_vanished_from_a_tower", _TOWER, _ON, Interference(move=_TAKEN)),
    _bench("lower_cube_exchanged", _TOWER, _ON, Interference(exchange=("red_cube", "green_cube"))),
    # Taken away, the camera working.
    *(
        _bench(f"taken_at_{m}", _APART, _IN, Interference(m, move=_TAKEN))
        for m in ("approach", "grasp", "lift", "carry", "place", "release", "retreat")
    ),
    _bench("taken_out_before", _DONE, _IN, Interference(move=_OUT)),
    _bench("pushed_off_the_table", _APART, _IN, Interference(move=_TAKEN)),
    _bench("first_taken_while_second_is_carried", _APART, _BOTH, Interference("carry", "yellow_cube", _TAKEN)),
    _case("first_taken_while_second_is_verified", _APART, _BOTH, Interference("retreat", "yellow_cube", _TAKEN)),
    _bench("tray_taken_from_under_it", _DONE, _IN, Interference(move={"left_tray": (0.40, 0.45, 0.0)})),
    # Taken out of the hand that carries the second thing, or exchanged in it.
    _case("second_taken_from_the_hand", _APART, _BOTH, Interference("carry", "yellow_cube", {"yellow_cube": AWAY})),
    _bench(
        "second_taken_and_laid_down",
        _APART,
        _BOTH,
        Interference("carry", "yellow_cube", {"yellow_cube": (*_SPOT, 0.0)}),
    ),
    _bench("second_exchanged_in_the_hand", _APART, _BOTH, Interference("carry", "yellow_cube", exchange=_SWAP)),
    # A thing is added while the robot works.
    *(
        _bench(
            f"added_{where}",
            _MORE,
            _IN,
            Interference(move={"blue_cube": AWAY}),
            Wait(3.0),
            Interference(moment, move={"blue_cube": spot}),
        )
        for where, moment, spot in (
            ("beside", "carry", (0.40, 0.25, 0.0)),
            ("where_it_goes", "lift", (*_LEFT, _FLOOR)),
            ("where_it_was", "carry", (*_SPOT, 0.0)),
            ("on_top", "retreat", (*_LEFT, _FLOOR + 0.05)),
        )
    ),
    _bench(
        "exchanged_under_what_is_added",
        _MORE,
        _IN,
        Interference(move={"blue_cube": AWAY}),
        Wait(3.0),
        Interference(
            "retreat",
            move={**_TAKEN, "yellow_cube": (*_LEFT, _FLOOR), "blue_cube": (*_LEFT, _FLOOR + 0.05)},
        ),
    ),
    # Equal things, and another scene.
    _case("one_of_two_equal_taken", _TWINS, _IN, Interference(move=_TAKEN)),
    _case("scene_reloaded_while_lifting", _APART, _IN, during=(Reload(),)),
    _bench("put_back_after_release", _APART, _IN, Interference("release", move={"red_cube": (*_SPOT, 0.0)})),
)
