"""LIBERO's simulator as a process, for its own environment: commands as lines of JSON on standard input, answers as
lines of JSON on standard output, pictures as raw bytes after the line that announces them.

It is run as a file by another interpreter and imports nothing of Planweave. The other side: `planweave.libero.client`.

| command | answer |
|---|---|
| `{"do": "suites"}` | `suites`: name -> number of tasks |
| `{"do": "load", "suite", "task", "init"}` | `language`, `goal`, `problem`, `inits`, `state` |
| `{"do": "step", "actions": [[7 numbers], …]}` | `steps` so far, `success` (LIBERO's check after each), `state` |
| `{"do": "state"}` | `state` |
| `{"do": "render", "camera", "width", "height"}` | `bytes`: of RGB (uint8, h x w x 3) and depth (float32, m) |

An action is that of LIBERO's controller OSC_POSE at 20 Hz: translation and rotation of the hand in [-1, 1], and the
gripper, -1 open, 1 closed.
`{"error": …}` answers what cannot be done; the process goes on.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
import warnings
from typing import Any

SETTLE = 10  # steps at rest after an initial state, in which things that were written down in the air come to lie
REST = [0.0] * 6 + [-1.0]
BOTH = ("on", "in")
ALONE = ("open", "close", "turnon", "turnoff")


class Server:
    """One environment at a time."""

    def __init__(self) -> None:
        self._env: Any = None
        self._steps = 0

    def answer(self, command: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """The answer to a command, and the bytes that follow it."""
        made = getattr(self, "do_" + str(command.pop("do", "")), None)
        if made is None:
            raise ValueError("unknown command")
        found: Any = made(**command)
        return found if isinstance(found, tuple) else (found, b"")

    def do_suites(self) -> dict[str, Any]:
        """All suites whose resources are there."""
        from libero.libero import benchmark

        found = {}
        for name, make in benchmark.get_benchmark_dict().items():
            with contextlib.suppress(Exception):
                suite = make()
                if suite.n_tasks and os.path.exists(suite.get_task_bddl_file_path(0)):
                    found[name] = suite.n_tasks
        return {"suites": found}

    def do_load(self, suite: str, task: int, init: int = 0) -> dict[str, Any]:
        """Load a task in one of its initial states, and let things come to rest."""
        from libero.libero import benchmark
        from libero.libero.envs.env_wrapper import ControlEnv

        made = benchmark.get_benchmark_dict().get(suite)
        if made is None:
            raise ValueError(f"LIBERO has no suite {suite!r}")
        tasks = made()
        if not 0 <= task < tasks.n_tasks:
            raise ValueError(f"{suite} has tasks 0 to {tasks.n_tasks - 1}, not {task}")
        states = tasks.get_task_init_states(task)
        if not 0 <= init < len(states):
            raise ValueError(f"{suite}/{task} has initial states 0 to {len(states) - 1}, not {init}")
        self.close()
        self._env = ControlEnv(
            bddl_file_name=tasks.get_task_bddl_file_path(task),
            has_offscreen_renderer=False,  # a picture is made where one is asked for
            use_camera_obs=False,
            horizon=10**9,
            ignore_done=True,
        )
        self._env.seed(0)  # which places the fixtures: they are not in the initial state
        self._env.reset()
        self._env.set_init_state(states[init])
        self._steps = 0
        for _ in range(SETTLE):
            self._env.step(REST)
        return {
            "language": self._env.language_instruction,
            "goal": [list(row) for row in self._env.env.parsed_problem["goal_state"]],
            "problem": self._env.problem_name,
            "inits": len(states),
            "state": self._state(),
        }

    def do_step(self, actions: list[list[float]]) -> dict[str, Any]:
        """Carry out actions, up to the first after which the goal holds."""
        env, done = self._loaded(), False
        for action in actions:
            env.step(action)
            self._steps += 1
            done = bool(env.check_success())
            if done:
                break
        return {"steps": self._steps, "success": done, "state": self._state()}

    def do_state(self) -> dict[str, Any]:
        """The true state."""
        return {"state": self._state()}

    def do_render(self, camera: str, width: int, height: int) -> tuple[dict[str, Any], bytes]:
        """A picture and its depth."""
        import mujoco
        import numpy

        sim = self._loaded().env.sim
        model, data = sim.model._model, sim.data._data
        if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, camera) < 0:
            names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_CAMERA, i) for i in range(model.ncam)]
            raise ValueError(f"there is no camera {camera!r}; there are {', '.join(names)}")
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
        model.vis.global_.offheight = max(model.vis.global_.offheight, height)
        option = mujoco.MjvOption()
        option.geomgroup[0] = 0  # collision geometry
        with mujoco.Renderer(model, height, width) as renderer:
            renderer.update_scene(data, camera, option)
            picture = renderer.render().astype(numpy.uint8)
            renderer.enable_depth_rendering()
            renderer.update_scene(data, camera, option)
            depth = renderer.render().astype(numpy.float32)
        followed = picture.tobytes() + depth.tobytes()
        return {"bytes": len(followed), "width": width, "height": height}, followed

    def close(self) -> None:
        """End the environment."""
        if self._env is not None:
            self._env.close()
            self._env = None

    def _loaded(self) -> Any:
        if self._env is None:
            raise ValueError("load a task first")
        return self._env

    def _state(self) -> dict[str, Any]:
        env = self._loaded().env
        model, data = env.sim.model._model, env.sim.data._data
        things = {}
        for name, thing in [*env.objects_dict.items(), *env.fixtures_dict.items()]:
            body = env.obj_body_id[name]
            things[name] = {
                "category": getattr(thing, "category_name", ""),
                "pos": _numbers(data.xpos[body]),
                "quat": _numbers(data.xquat[body]),
                "fixture": name in env.fixtures_dict,
                "bounds": _bounds(model, data, body),
            }
        sites = {}
        for name, site in env.object_sites_dict.items():
            if name in env.sim.model.site_names:
                joints = [data.qpos[env.sim.model.get_joint_qpos_addr(j)] for j in site.joints or []]
                sites[name] = {
                    "pos": _numbers(env.sim.data.get_site_xpos(name)),
                    "size": _numbers(site.size),
                    "parent": env.object_states_dict[name].parent_name,
                    "joints": _numbers(joints),
                }
        robot = env.robots[0]
        return {
            "things": things,
            "sites": sites,
            "facts": self._facts(env, things, sites),
            "joints": _numbers(robot._joint_positions),
            "gripper": _numbers(data.qpos[robot._ref_gripper_joint_pos_indexes]),
            "base": _numbers(robot.base_pos),
            "steps": self._steps,
        }

    @staticmethod
    def _facts(env: Any, things: dict[str, Any], sites: dict[str, Any]) -> list[list[str]]:
        """LIBERO's own predicates that hold, of things and of regions that belong to one."""
        places = [n for n in env.object_states_dict if n not in sites or sites[n]["parent"] in things]
        rows = [[p, thing, place] for thing in env.objects_dict for place in places if place != thing for p in BOTH]
        found = []
        for row in rows + [[p, place] for place in places for p in ALONE]:
            with contextlib.suppress(Exception):  # not every predicate is defined for everything
                if env._eval_predicate(row):
                    found.append(row)
        return found


def _numbers(values: Any) -> list[float]:
    return [round(float(v), 5) for v in values]


def _bounds(model: Any, data: Any, body: int) -> list[float] | None:
    """Low and high corner of the collision geometry of a body and what hangs on it; None without any."""
    import numpy

    bodies = {body}
    for i in range(body + 1, model.nbody):
        if model.body_parentid[i] in bodies:
            bodies.add(i)
    low, high = numpy.full(3, numpy.inf), numpy.full(3, -numpy.inf)
    for geom in range(model.ngeom):
        if model.geom_bodyid[geom] in bodies and (model.geom_contype[geom] or model.geom_conaffinity[geom]):
            turned = data.geom_xmat[geom].reshape(3, 3)
            centre = data.geom_xpos[geom] + turned @ model.geom_aabb[geom][:3]
            half = numpy.abs(turned) @ model.geom_aabb[geom][3:]
            low, high = numpy.minimum(low, centre - half), numpy.maximum(high, centre + half)
    return _numbers([*low, *high]) if numpy.isfinite(low).all() else None


def main() -> None:
    """Answer commands until standard input ends."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    commands, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what LIBERO prints is no answer
    sys.stdout = sys.stderr
    server = Server()
    for line in commands:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                answer, followed = server.answer(json.loads(line))
        except Exception as error:
            answer, followed = {"error": f"{type(error).__name__}: {str(error)[:500]}"}, b""
        answers.write(json.dumps(answer).encode() + b"\n" + followed)
        answers.flush()
    server.close()


if __name__ == "__main__":
    main()
