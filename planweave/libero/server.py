"""LIBERO's simulator as a process, for its own environment: commands as lines of JSON on standard input, answers as
lines of JSON on standard output, pictures as raw bytes after the line that announces them.

It is run as a file by another interpreter and imports nothing of Planweave. The other side: `planweave.libero.client`.

| command | answer |
|---|---|
| `{"do": "suites"}` | `suites`: name -> number of tasks |
| `{"do": "load", "suite", "task", "init", "joints"}` | `language`, `goal`, `problem`, `inits`, `geometry`, `state` |
| `{"do": "step", "actions": [[7 numbers], …]}` | `steps` so far, `success` (after the last), `first`, `state` |
| `{"do": "move", "goals": [[8 numbers], …]}` | `steps`, `success`, `first`, `arm` |
| `{"do": "arm"}` | `arm` |
| `{"do": "state"}` | `state` |
| `{"do": "render", "camera", "width", "height"}` | `camera`; `bytes` of RGB (uint8, h x w x 3), depth (float32, m) |
| `{"do": "film", "camera", "width", "height", "most"}` | `bytes`: of RGB of the task so far, `most` pictures at most |

An action is that of LIBERO's controller OSC_POSE at 20 Hz: translation and rotation of the hand in [-1, 1], and the
gripper, -1 open, 1 closed. A task loaded with `joints` has robosuite's controller JOINT_POSITION with our gains in its
place: a goal is where the seven joints shall be after 1/20 s (rad), and the gripper, -1 opening, 1 closing, 0 neither.
`first`: the number of steps after which the checker said for the first time that the goal holds, or null.
`arm`: `joints` (rad), `velocities` (rad/s), `gripper` (two fingers, m), `speed` (of theirs, m/s).
`geometry`: what does not change, see `_geometry`; poses of its bodies are in `state`.
`camera`: `fovy` (degrees, vertical), `pos` (m) and `mat` (3 x 3 row by row; its x points right, y up, the view is -z)
in LIBERO's world frame.
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

KEPT = 5  # steps between two states that are kept for a film
SETTLE = 10  # steps at rest after an initial state, in which things that were written down in the air come to lie
REST = [0.0] * 6 + [-1.0]
GAINS = {  # of JOINT_POSITION: so stiff that a motion is followed within 1 degree; goals are given as steps in rad
    "kp": 900.0,
    "damping_ratio": 1.0,
    "kp_limits": [0.0, 2000.0],
    "input_max": 1.0,
    "input_min": -1.0,
    "output_max": 1.0,
    "output_min": -1.0,
    "interpolation": "linear",
    "ramp_ratio": 1.0,
}
BOTH = ("on", "in")
ALONE = ("open", "close", "turnon", "turnoff")


class Server:
    """One environment at a time."""

    def __init__(self) -> None:
        self._env: Any = None
        self._steps = 0
        self._joints = False
        self._first: int | None = None
        self._kept: list[Any] = []  # positions of all joints, every KEPT steps
        self._pictures: tuple[tuple[int, int], Any] | None = None  # width, height; what renders them

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

    def do_load(self, suite: str, task: int, init: int = 0, joints: bool = False) -> dict[str, Any]:
        """Load a task in one of its initial states, and let things come to rest.

        joints: with a controller of joint positions.
        """
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
            controller="JOINT_POSITION" if joints else "OSC_POSE",
            has_offscreen_renderer=False,  # a picture is made where one is asked for
            use_camera_obs=False,
            horizon=10**9,
            ignore_done=True,
        )
        if joints:
            self._env.env.robot_configs[0]["controller_config"].update(GAINS)
        self._env.seed(0)  # which places the fixtures: they are not in the initial state
        self._env.reset()
        self._env.set_init_state(states[init])
        self._steps, self._first, self._kept, self._joints = 0, None, [], joints
        if joints:
            self._hold()
        at_rest = [*self._env.env.robots[0]._joint_positions, -1.0]
        for _ in range(SETTLE):
            self._env.step(self._action(at_rest) if joints else REST)
        return {
            "language": self._env.language_instruction,
            "goal": [list(row) for row in self._env.env.parsed_problem["goal_state"]],
            "problem": self._env.problem_name,
            "inits": len(states),
            "geometry": self._geometry(),
            "state": self._state(),
        }

    def do_step(self, actions: list[list[float]]) -> dict[str, Any]:
        """Carry out actions, up to the first after which the goal holds."""
        if self._joints:
            raise ValueError("the task was loaded with a controller of joint positions: use move")
        done = False
        for action in actions:
            done = self._step(action)
            if done:
                break
        return {"steps": self._steps, "success": done, "first": self._first, "state": self._state()}

    def do_move(self, goals: list[list[float]]) -> dict[str, Any]:
        """Have the joints at goals in turn. success: the task's goal holds after the last."""
        if not self._joints:
            raise ValueError("the task was loaded with LIBERO's own controller: use step")
        done = False
        for goal in goals:
            done = self._step(self._action(goal))
        return {"steps": self._steps, "success": done, "first": self._first, "arm": self._arm()}

    def do_arm(self) -> dict[str, Any]:
        """Measured state of the arm."""
        return {"arm": self._arm()}

    def do_state(self) -> dict[str, Any]:
        """The true state."""
        return {"state": self._state()}

    def do_render(self, camera: str, width: int, height: int) -> tuple[dict[str, Any], bytes]:
        """A picture and its depth."""
        import mujoco
        import numpy

        sim = self._loaded().env.sim
        model, data = sim.model._model, sim.data._data
        number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, camera)
        if number < 0:
            names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_CAMERA, i) for i in range(model.ncam)]
            raise ValueError(f"there is no camera {camera!r}; there are {', '.join(names)}")
        option = _shown(model, width, height)
        renderer = self._renderer(model, width, height)
        renderer.update_scene(data, camera, option)
        picture = renderer.render().astype(numpy.uint8)
        option.sitegroup[:] = 0  # sites that nobody sees have depth nevertheless
        renderer.enable_depth_rendering()
        try:
            renderer.update_scene(data, camera, option)
            depth = renderer.render().astype(numpy.float32)
        finally:
            renderer.disable_depth_rendering()
        followed = picture.tobytes() + depth.tobytes()
        place = {
            "fovy": float(model.cam_fovy[number]),
            "pos": data.cam_xpos[number].tolist(),
            "mat": data.cam_xmat[number].tolist(),
        }
        return {"bytes": len(followed), "width": width, "height": height, "camera": place}, followed

    def do_film(self, camera: str, width: int, height: int, most: int) -> tuple[dict[str, Any], bytes]:
        """Pictures of the states that were kept, at even distances."""
        import mujoco

        sim = self._loaded().env.sim
        model, kept = sim.model._model, [*self._kept, sim.data.qpos.copy()]
        chosen = kept if len(kept) <= most else [kept[round(i * (len(kept) - 1) / (most - 1))] for i in range(most)]
        option = _shown(model, width, height)
        data, pictures = mujoco.MjData(model), []
        renderer = self._renderer(model, width, height)
        for positions in chosen:
            data.qpos[:] = positions
            mujoco.mj_forward(model, data)
            renderer.update_scene(data, camera, option)
            pictures.append(renderer.render().tobytes())
        followed = b"".join(pictures)
        return {"bytes": len(followed)}, followed

    def _renderer(self, model: Any, width: int, height: int) -> Any:
        """Renders the loaded task's pictures of one size; made once, which takes as long as five pictures."""
        import mujoco

        if self._pictures is None or self._pictures[0] != (width, height):
            self._close_renderer()
            self._pictures = (width, height), mujoco.Renderer(model, height, width)
        return self._pictures[1]

    def _close_renderer(self) -> None:
        if self._pictures is not None:
            self._pictures[1].close()
            self._pictures = None

    def close(self) -> None:
        """End the environment."""
        self._close_renderer()
        if self._env is not None:
            self._env.close()
            self._env = None

    def _step(self, action: list[float]) -> bool:
        """One step of 1/20 s; whether LIBERO's checker says that the goal holds after it."""
        env = self._loaded()
        done = bool(env.step(action)[2])
        self._steps += 1
        if done and self._first is None:
            self._first = self._steps
        if self._steps % KEPT == 1:
            self._kept.append(env.env.sim.data.qpos.copy())
        return done

    def _loaded(self) -> Any:
        if self._env is None:
            raise ValueError("load a task first")
        return self._env

    def _hold(self) -> None:
        """Have the controller of joint positions begin where the arm is: it goes from goal to goal."""
        controller = self._loaded().env.robots[0].controller
        controller.update(force=True)
        controller.reset_goal()
        controller.reset_goal()

    def _action(self, goal: list[float]) -> list[float]:
        """The action that has the joints at a goal: the controller counts from where they are."""
        robot = self._loaded().env.robots[0]
        return [*(g - q for g, q in zip(goal, robot._joint_positions)), goal[7]]

    def _arm(self) -> dict[str, Any]:
        env = self._loaded().env
        data, robot = env.sim.data, env.robots[0]
        return {
            "joints": _numbers(robot._joint_positions),
            "velocities": _numbers(robot._joint_velocities),
            "gripper": _numbers(data.qpos[robot._ref_gripper_joint_pos_indexes]),
            "speed": _numbers(data.qvel[robot._ref_gripper_joint_vel_indexes]),
        }

    def _geometry(self) -> dict[str, Any]:
        """What does not change while a task is loaded.

        `geoms`: rows of the collision geometry without the robot's: body, kind, size (as MuJoCo has it), pos and quat
        in the body, mesh. `bodies`: name -> thing ("" for the room and its table), parent. `joints`: name -> kind,
        body, range, and in the world axis and anchor. `sites`: region -> its joints. `meshes`: name -> corners of its
        convex hull.
        """
        import mujoco

        env = self._loaded().env
        model, data = env.sim.model._model, env.sim.data._data
        of = _things_of_bodies(env, model)
        geoms, meshes, bodies = [], {}, {}
        for geom in range(model.ngeom):
            body = int(model.geom_bodyid[geom])
            if body not in of or not (model.geom_contype[geom] or model.geom_conaffinity[geom]):
                continue
            kind = mujoco.mjtGeom(model.geom_type[geom]).name.removeprefix("mjGEOM_").lower()
            row = {"body": model.body(body).name, "kind": kind, "size": _numbers(model.geom_size[geom])}
            row |= {"pos": _numbers(model.geom_pos[geom]), "quat": _numbers(model.geom_quat[geom])}
            if kind == "mesh":
                row["mesh"] = model.mesh(model.geom_dataid[geom]).name
                meshes[row["mesh"]] = _hull(model, model.geom_dataid[geom])
            geoms.append(row)
        joints = {}
        for joint in _articulations(model, of):
            joints[model.joint(joint).name] = {
                "kind": mujoco.mjtJoint(model.jnt_type[joint]).name.removeprefix("mjJNT_").lower(),
                "body": model.body(model.jnt_bodyid[joint]).name,
                "range": _numbers(model.jnt_range[joint]),
                "axis": _numbers(data.xaxis[joint]),
                "anchor": _numbers(data.xanchor[joint]),
            }
        for body, thing in of.items():
            bodies[model.body(body).name] = {"thing": thing, "parent": model.body(model.body_parentid[body]).name}
        sites = {name: list(site.joints or []) for name, site in env.object_sites_dict.items()}
        return {"geoms": geoms, "bodies": bodies, "joints": joints, "sites": sites, "meshes": meshes}

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
                    "quat": _numbers(_quaternion(env.sim.data.get_site_xmat(name))),
                    "size": _numbers(site.size),
                    "parent": env.object_states_dict[name].parent_name,
                    "joints": _numbers(joints),
                }
        robot, of = env.robots[0], _things_of_bodies(env, model)
        turned = _articulations(model, of)
        return {
            "things": things,
            "sites": sites,
            "facts": self._facts(env, things, sites),
            "bodies": {model.body(body).name: _numbers([*data.xpos[body], *data.xquat[body]]) for body in of},
            "values": {model.joint(j).name: _numbers(data.qpos[model.jnt_qposadr[[j]]])[0] for j in turned},
            "joints": _numbers(robot._joint_positions),
            "gripper": _numbers(data.qpos[robot._ref_gripper_joint_pos_indexes]),
            "base": _numbers([*robot.base_pos, robot.base_ori[3], *robot.base_ori[:3]]),
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


def _shown(model: Any, width: int, height: int) -> Any:
    """What a picture of this size shows: all but collision geometry."""
    import mujoco

    model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
    model.vis.global_.offheight = max(model.vis.global_.offheight, height)
    option = mujoco.MjvOption()
    option.geomgroup[0] = 0
    return option


def _numbers(values: Any) -> list[float]:
    return [round(float(v), 5) for v in values]


def _things_of_bodies(env: Any, model: Any) -> dict[int, str]:
    """Of each body that is not the robot's the thing it is part of; "" for the room."""
    things = {env.obj_body_id[name]: name for name in (*env.objects_dict, *env.fixtures_dict)}
    robot = {model.body(name).id for name in (env.robots[0].robot_model.root_body,)}
    found: dict[int, str] = {}
    for body in range(model.nbody):
        parent = int(model.body_parentid[body])
        if body in robot or (body and parent in robot):
            robot.add(body)
        elif body in things:
            found[body] = things[body]
        else:
            found[body] = found.get(parent, "") if body else ""
    return found


def _quaternion(matrix: Any) -> Any:
    """w, x, y, z of a rotation (3, 3)."""
    import mujoco
    import numpy

    found = numpy.zeros(4)
    mujoco.mju_mat2Quat(found, numpy.asarray(matrix, dtype=float).ravel())
    return found


def _articulations(model: Any, of: dict[int, str]) -> list[int]:
    """Joints of things that slide or turn."""
    return [j for j in range(model.njnt) if model.jnt_type[j] in (2, 3) and of.get(int(model.jnt_bodyid[j]))]


def _hull(model: Any, mesh: int) -> list[list[float]]:
    """Corners of a mesh's convex hull; of the mesh itself where MuJoCo made none."""
    first = int(model.mesh_vertadr[mesh])
    points = model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])]
    graph = int(model.mesh_graphadr[mesh])
    if graph >= 0:
        count = int(model.mesh_graph[graph])
        points = points[model.mesh_graph[graph + 2 + count : graph + 2 + 2 * count]]
    return [_numbers(point) for point in points]


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
