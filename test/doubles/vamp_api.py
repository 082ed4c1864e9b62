"""A double of the package `vamp` with the signatures of its documentation; the test decides what it plans."""

from types import SimpleNamespace

import numpy as np


class Cuboid:
    def __init__(self, center, euler_xyz, half_extents):
        assert all(len(v) == 3 and all(isinstance(x, float) for x in v) for v in (center, euler_xyz, half_extents))
        self.center, self.half_extents = center, half_extents


class Environment:
    def __init__(self):
        self.cuboids = []

    def add_cuboid(self, cuboid):
        assert isinstance(cuboid, Cuboid)
        self.cuboids.append(cuboid)


class Path:
    def __init__(self, rows):
        self.rows = rows

    def numpy(self):
        return np.array(self.rows)


def module(plan):
    """The package; plan(start, goal, environment) gives waypoints or None."""

    def rrtc(start, goal, environment, settings, rng):
        assert (settings, rng) == ("plan settings", "halton")
        rows = plan(start, goal, environment)
        return SimpleNamespace(solved=rows is not None, path=Path(rows or []))

    def simplify(path, environment, settings, rng):
        assert isinstance(environment, Environment) and (settings, rng) == ("simplify settings", "halton")
        return SimpleNamespace(path=path)

    def configure_robot_and_planner_with_kwargs(robot_name, planner_name, **kwargs):
        assert (robot_name, planner_name) == ("panda", "rrtc") and not kwargs
        panda = SimpleNamespace(halton=lambda: "halton", simplify=simplify)
        return panda, rrtc, "plan settings", "simplify settings"

    return SimpleNamespace(
        Cuboid=Cuboid,
        Environment=Environment,
        configure_robot_and_planner_with_kwargs=configure_robot_and_planner_with_kwargs,
    )
