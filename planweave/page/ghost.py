"""The page's preview of a plan: a ghost of the robot that plays its motions in a loop, with what it carries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from viser import Icon
from viser.transforms import SO3

from planweave.core.symbolic.world import World
from planweave.core.workflow.step_motion import Carried, PlanPreview
from planweave.core.workflow.task_status import TaskState, TaskStatus
from planweave.page import words
from planweave.page.robot_view import RobotView
from planweave.page.world_view import add_shape

if TYPE_CHECKING:
    import viser

_OPACITY = 0.35
_REST = 1.0  # s between two rounds
_ROOT = "/ghost"


class Ghost:
    """A folder of the panel, and the ghost in the 3D scene. Its methods may be called from any thread.

    make_view: a translucent view of the robot below a node; world: the newest world, for the shapes of what is carried.
    """

    def __init__(
        self, server: viser.ViserServer, make_view: Callable[[str, float], RobotView], world: Callable[[], World]
    ):
        self._server, self._make_view, self._world = server, make_view, world
        self._lock = threading.RLock()
        self._view: RobotView | None = None
        self._status: TaskStatus | None = None
        self._preview: PlanPreview | None = None
        self._line: Timeline | None = None
        self._shapes: dict[str, Any] = {}
        self._playing, self._at, self._ticked = True, 0.0, 0.0
        self._base = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
        gui = server.gui
        with gui.add_folder("Preview", visible=False) as self._folder:
            self._words = gui.add_html("")
            self._slider = gui.add_slider("Time", 0.0, 1.0, 0.01, 0.0, hint="s from the plan's beginning")
            self._button = gui.add_button("Pause the preview", icon=Icon.PLAYER_PAUSE)
        self._slider.on_update(self._slid)
        self._button.on_click(lambda _: self._play(not self._playing))

    # ---- from the system

    def status(self, status: TaskStatus) -> None:
        """Process the newest status of the task that the page shows."""
        with self._lock:
            self._status = status
            self._refresh()

    def preview(self, preview: PlanPreview) -> None:
        """Process the motions of a plan."""
        with self._lock:
            self._preview, self._line = preview, None
            self._refresh()

    def place(self, position: tuple[float, float, float], turn: tuple[float, float, float, float]) -> None:
        """Put the base at a position (m) and an orientation (w, x, y, z) in the frame of the scene."""
        with self._lock:
            self._base = position, turn
            if self._view is not None:
                self._view.place(position, turn)

    @property
    def shown(self) -> bool:
        return self._line is not None

    def _refresh(self) -> None:
        """Show the preview of the plan that waits, or that a dry run found; else nothing. The lock is held."""
        status, preview = self._status, self._preview
        state = status.state if status is not None else None
        fits = (
            status is not None
            and preview is not None
            and state in (TaskState.AWAITING_APPROVAL, TaskState.PLANNED)
            and (preview.task_id, preview.hash) == (status.task_id, status.plan_hash)
        )
        self._folder.visible = bool(status and status.plan) and state in (
            TaskState.AWAITING_APPROVAL,
            TaskState.PLANNED,
        )
        if not fits or preview is None:
            self._words.content = words.note_html("the motions are being planned")
            self._leave()
            return
        self._words.content = words.preview_html(preview)
        if self._line is None and any(step.times for step in preview.steps):
            self._begin(preview)

    def _begin(self, preview: PlanPreview) -> None:
        self._leave()
        if self._view is None:
            self._view = self._make_view(_ROOT, _OPACITY)
            self._view.place(*self._base)
        line = Timeline(preview, self._view.tool)
        there = self._world().by_name
        for number, name in enumerate(line.names):
            if name in there:
                thing = there[name]
                self._shapes[name] = add_shape(self._server.scene, f"{_ROOT}/held_{number}", thing, opacity=_OPACITY)
        self._line, self._at, self._ticked = line, 0.0, time.monotonic()
        self._slider.max = max(round(line.duration, 2), 0.01)
        self._view.visible = True
        self._play(True)
        self._show()

    def _leave(self) -> None:
        self._line = None
        if self._view is not None:
            self._view.visible = False
        for shape in self._shapes.values():
            shape.remove()
        self._shapes = {}

    # ---- playing

    def tick(self) -> None:
        """Go on in time; to be called many times a second, while somebody looks."""
        with self._lock:
            line, now = self._line, time.monotonic()
            passed, self._ticked = now - self._ticked, now
            if line is None or not self._playing:
                return
            self._at += passed
            if self._at > line.duration + _REST:
                self._at = 0.0
            self._show()
            self._slider.value = round(min(self._at, line.duration), 2)  # type: ignore[misc]  # viser's own setter

    def _show(self) -> None:
        line, view = self._line, self._view
        if line is None or view is None:
            return
        at = min(self._at, line.duration)
        with self._server.atomic():
            view.pose(line.at(at))
            poses = line.objects(at)
            for name, shape in self._shapes.items():
                shape.visible = name in poses
                if name in poses:
                    shape.position, shape.wxyz = poses[name][:3, 3], SO3.from_matrix(poses[name][:3, :3]).wxyz

    def _play(self, play: bool) -> None:
        with self._lock:
            self._playing = play
            self._button.label = "Pause the preview" if play else "Play the preview"
            self._button.icon = Icon.PLAYER_PAUSE if play else Icon.PLAYER_PLAY

    def _slid(self, event: Any) -> None:
        """A person has moved the slider; the program's own change comes from no client."""
        if event.client is None:
            return
        with self._lock:
            self._play(False)
            self._at = float(self._slider.value)
            self._show()


Array = NDArray[np.float64]
Tool = Callable[[Array], Array]
"""Pose (4, 4) of the tool centre point in the robot's base frame, of joint positions of arm and fingers."""


@dataclass(frozen=True)
class _Transport:
    """An object that is carried from a time to another, s of the whole plan, at a pose (4, 4) in the tool's frame; it
    then stays at a pose in the base frame.
    """

    name: str
    since: float
    until: float
    in_tool: Array
    left_at: Array


class Timeline:
    """The motions of all steps, one after the other. Steps whose motion is not known take no time."""

    def __init__(self, preview: PlanPreview, tool: Tool):
        times: list[Array] = []
        rows: list[Array] = []
        carried: list[tuple[Carried, float]] = []
        at = 0.0
        for step in preview.steps:
            if step.times:
                times.append(at + np.array(step.times))
                rows.append(np.array(step.positions))
                if step.held is not None:
                    carried.append((step.held, at))
                at += step.times[-1]
        self.duration = at
        self._times = np.concatenate(times) if times else np.zeros(0)
        self._rows = np.vstack(rows) if rows else np.zeros((0, 0))
        self._tool = tool
        self._transports = [self._transport(held, begun) for held, begun in carried]

    def _transport(self, held: Carried, begun: float) -> _Transport:
        in_tool = np.eye(4)
        x, y, z, w = held.orientation
        in_tool[:3, :3], in_tool[:3, 3] = SO3(np.array((w, x, y, z))).as_matrix(), held.position
        until = begun + held.until
        return _Transport(held.name, begun + held.since, until, in_tool, self._tool(self.at(until)) @ in_tool)

    def at(self, t: float) -> Array:
        """Joint positions of arm (rad) and fingers (m), between the points that are known."""
        found: Array = np.array([np.interp(t, self._times, column) for column in self._rows.T])
        return found

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(transport.name for transport in self._transports))

    def objects(self, t: float) -> dict[str, Array]:
        """Poses (4, 4) in the base frame of what has been taken until a time."""
        found: dict[str, Array] = {}
        tool: Array | None = None
        for transport in self._transports:
            if transport.since <= t <= transport.until:
                tool = self._tool(self.at(t)) if tool is None else tool
                found[transport.name] = tool @ transport.in_tool
            elif transport.until < t:
                found[transport.name] = transport.left_at
        return found
