"""A simulated person across the table who takes a handed-over object by pulling it out of the fingers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from planweave.robots import RobotDescription
from planweave.robots.model import TCP_SITE
from planweave.simulation.mujoco_model import object_body, off_table, put_object
from planweave.simulation.scene import Scene

if TYPE_CHECKING:
    import mujoco

_WITHIN = 0.10  # the gripper is held out when its tool centre point is this near to the person's hand, m
_IN_FINGERS = 0.09  # of an object's middle from the tool centre point, m
_STILL = 0.05  # rad/s
_STRONGEST, _GROWS = 30.0, 20.0  # pull, N, and how it grows, N/s
_OUT = 0.12  # an object this much further from the fingers than it was is the person's, m
_EVERY = 10  # time steps between two looks
_BEHIND = 1.6  # how far behind the robot what was taken is put, m


class Person:
    """Pulls with a force that grows to 30 N: a loosened grip yields, a firm one does not.

    Does nothing in a scene without a person.
    """

    def __init__(self, model: mujoco.MjModel, scene: Scene, robot: RobotDescription):
        self._who = scene.person
        self._tcp = model.site(TCP_SITE).id
        self._arm = np.array([model.joint(name).dofadr[0] for name in robot.joint_names])
        self._bodies = [model.body(object_body(i)).id for i in range(len(scene.objects))]
        self._step = model.opt.timestep * _EVERY
        self.reset()

    def reset(self) -> None:
        """Forget the current hand-over."""
        self._count = 0
        self._waited = self._pull = 0.0
        self._at = -1  # the object that is held out, as an index; -1: none
        self._began = 0.0  # its distance from the fingers then

    def update(self, data: mujoco.MjData) -> None:
        """Call after each time step in which the fingers are closed or closing."""
        self._count += 1
        if self._who is None or self._count % _EVERY:
            return
        tcp = data.site_xpos[self._tcp]
        if self._at >= 0 and self._pull > 0:
            self._draw(data, tcp)
            return
        near = math.dist(tcp, self._who.at) < _WITHIN and np.abs(data.qvel[self._arm]).max() < _STILL
        held = self._held_out(data, tcp) if near else -1
        self._waited = self._waited + self._step if held >= 0 and held == self._at else 0.0
        self._at = held
        if held >= 0 and self._waited >= self._who.after:
            self._began = math.dist(data.xipos[self._bodies[held]], tcp)
            self._pull = _GROWS * self._step

    def _held_out(self, data: mujoco.MjData, tcp: np.ndarray) -> int:
        away = [math.dist(data.xipos[body], tcp) for body in self._bodies]
        nearest = int(np.argmin(away))
        return nearest if away[nearest] < _IN_FINGERS else -1

    def _draw(self, data: mujoco.MjData, tcp: np.ndarray) -> None:
        body = self._bodies[self._at]
        if math.dist(data.xipos[body], tcp) - self._began < _OUT:
            self._pull = min(self._pull + _GROWS * self._step, _STRONGEST)
            data.xfrc_applied[body, :3] = (self._pull, 0.0, 0.0)
            return
        data.xfrc_applied[body] = 0.0
        put_object(data, self._at, off_table(self._at, _BEHIND), (1.0, 0.0, 0.0, 0.0))
        self.reset()
