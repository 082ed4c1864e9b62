"""moveit_py after moveit_api.yaml: a wrong name, a missing or an unknown argument fails, and so does setting what
cannot be set. What the calls do is told by a `Robot`.
"""

import sys
import threading
import types
from pathlib import Path

import yaml

TABLE = yaml.safe_load(Path(__file__).with_name("moveit_api.yaml").read_text())
HOME = [0.0, -0.785398, 0.0, -2.356194, 0.0, 1.570796, 0.785398]


class Robot:
    """What MoveIt does here: plans a straight line unless `error_code` says otherwise, and executes until told."""

    def __init__(self):
        self.at = list(HOME)
        self.error_code = 1
        self.via = []  # configurations that a planned path passes
        self.hang = False  # plan never returns, and holds everything up
        self.status = "SUCCEEDED"
        self.wait = False  # executions end only when stopped
        self.scene = []  # what happened to the planning scene: (method, arguments)
        self.plans = []  # request parameters and goals
        self.executed = []  # trajectories
        self.config = None
        self.before = 0.0  # seconds until an execution that was begun can be stopped
        self.running = False
        self.stopped = threading.Event()

    def stop(self):
        """Stop what runs; without effect where nothing does, as in MoveIt."""
        if self.running:
            self.stopped.set()


def bind(owner, method, overloads, given, keywords):
    """Arguments by name after the first overload that fits; AssertionError that says what would."""
    for names in overloads:
        known = [name.rstrip("?") for name in names]
        if len(given) > len(known) or set(keywords) - (set(known) - {"*"}):
            continue
        bound = {name if name != "*" else f"*{k}": value for k, (name, value) in enumerate(zip(known, given))}
        if set(bound) & set(keywords):
            continue
        bound.update(keywords)
        if all(name.endswith("?") or name in bound or f"*{k}" in bound for k, name in enumerate(names)):
            return bound
    raise AssertionError(f"{owner}.{method} takes {overloads}, got {given} {sorted(keywords)}")


def make_class(name, table, actions):
    """A class of moveit_py; actions: what its methods do, by name, called with (self, bound arguments)."""
    methods = table["methods"]

    class Bound:
        def __init__(self, *given, **keywords):
            assert "__init__" in methods, f"{name} cannot be made in Python"
            self.__dict__["arguments"] = bind(name, "__init__", methods["__init__"], given, keywords)
            if "__init__" in actions:
                actions["__init__"](self, self.arguments)

        def __getattr__(self, key):
            assert key in methods or key in table["writable"] or key in table["fixed"], f"{name} has no {key!r}"
            if key in methods:
                return lambda *given, **keywords: actions.get(key, lambda me, a: None)(
                    self, bind(name, key, methods[key], given, keywords)
                )
            return actions[f"get {key}"](self)

        def __setattr__(self, key, value):
            assert key in table["writable"], f"{name}.{key} cannot be set (can: {table['writable']})"
            self.__dict__[key] = value

    for special in ("__enter__", "__exit__", "__bool__"):
        if special in methods and special in actions:
            setattr(Bound, special, actions[special])
    Bound.__name__ = Bound.__qualname__ = name
    return Bound


def made(cls, **attributes):
    """An object of a class that Python cannot make."""
    thing = object.__new__(cls)
    thing.__dict__.update(attributes)
    return thing


def modules(robot):
    """moveit's modules by dotted name; they do what the robot says."""
    classes = {}

    def define(module, name, **actions):
        """A class whose methods do `actions`, and whose properties are what `get_property_…` returns."""
        named = {key.replace("get_property_", "get "): action for key, action in actions.items()}
        classes[name] = make_class(name, TABLE[module][name], named)
        return module, name

    def note(method):
        return lambda me, arguments: robot.scene.append((method, arguments))

    def plan(me, arguments):
        while robot.hang:
            threading.Event().wait(0.05)
        wanted = arguments["single_plan_parameters"]
        assert isinstance(wanted, classes["PlanRequestParameters"])
        robot.plans.append((wanted, robot.goal))
        return made(classes["MotionPlanResponse"], goal=robot.goal)

    def execute(me, arguments):
        robot.executed.append(arguments["robot_trajectory"])
        status = robot.status
        threading.Event().wait(robot.before)
        robot.running = True
        if robot.wait:
            assert robot.stopped.wait(10.0)
            status = "PREEMPTED"
        robot.running = False
        robot.stopped.clear()
        return made(classes["ExecutionStatus"], status_text=status)

    def set_goal(me, arguments):
        positions = arguments["robot_state"].__dict__["joint_positions"]
        assert type(positions) is dict, "pybind11 converts a dict only"
        robot.goal = [positions.pop(f"fr3_joint{i}") for i in range(1, 8)]
        assert not positions and all(type(q) is float for q in robot.goal)
        return True

    def crash(me, arguments):
        raise AssertionError("Jazzy's pybind11 (2.11.1) ends the process here beside numpy 2: it converts to Eigen")

    def trajectory_message(me, arguments):
        from moveit_msgs.msg import RobotTrajectory
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        names = [f"fr3_joint{i}" for i in range(7, 0, -1)]
        rows = [robot.at, *robot.via, me.__dict__["goal"]]
        points = [JointTrajectoryPoint(positions=[float(q) for q in reversed(row)]) for row in rows]
        return RobotTrajectory(joint_trajectory=JointTrajectory(joint_names=names, points=points))

    def error_code(me):
        from moveit_msgs.msg import MoveItErrorCodes

        return MoveItErrorCodes(val=robot.error_code)

    def made_trajectory(me):
        return made(classes["RobotTrajectory"], goal=me.__dict__["goal"])

    def set_message(me, arguments):
        assert isinstance(arguments["robot_state"], classes["RobotState"])
        me.__dict__["message"] = arguments["msg"]

    planning, core = "moveit.planning", "moveit.core"
    homes = [
        define(
            planning,
            "MoveItPy",
            __init__=lambda me, a: setattr(robot, "config", a["config_dict"]),
            execute=execute,
            get_planning_component=lambda me, a: made(classes["PlanningComponent"]),
            get_planning_scene_monitor=lambda me, a: made(classes["PlanningSceneMonitor"]),
            get_trajectory_execution_manager=lambda me, a: made(classes["TrajectoryExecutionManager"]),
            get_robot_model=lambda me, a: "the robot's model",
        ),
        define(planning, "PlanRequestParameters"),
        define(planning, "PlanningComponent", plan=plan, set_goal_state=set_goal),
        define(
            planning,
            "PlanningSceneMonitor",
            read_write=lambda me, a: made(classes["LockedPlanningSceneContextManagerRW"]),
            read_only=lambda me, a: made(classes["LockedPlanningSceneContextManagerRO"]),
        ),
        define(planning, "TrajectoryExecutionManager", stop_execution=lambda me, a: robot.stop()),
        define(f"{core}.collision_detection", "AllowedCollisionMatrix", set_entry=note("set_entry")),
        define(
            f"{core}.controller_manager", "ExecutionStatus", get_property_status=lambda me: me.__dict__["status_text"]
        ),
        define(
            f"{core}.planning_interface",
            "MotionPlanResponse",
            __bool__=lambda me: robot.error_code == 1,
            get_property_error_code=error_code,
            get_property_trajectory=made_trajectory,
        ),
        define(
            f"{core}.planning_scene",
            "PlanningScene",
            get_property_current_state=lambda me: made(classes["RobotState"]),
            get_property_allowed_collision_matrix=lambda me: made(classes["AllowedCollisionMatrix"]),
            **{
                name: note(name)
                for name in (
                    "apply_collision_object",
                    "process_attached_collision_object",
                    "remove_all_collision_objects",
                )
            },
        ),
        define(
            f"{core}.robot_state",
            "RobotState",
            **{
                name: crash
                for name in TABLE[f"{core}.robot_state"]["RobotState"]["methods"]
                if name.startswith(("set_joint_group", "get_joint_group", "get_jacobian", "get_global_link"))
            },
        ),
        define(
            f"{core}.robot_trajectory",
            "RobotTrajectory",
            get_robot_trajectory_msg=trajectory_message,
            set_robot_trajectory_msg=set_message,
        ),
    ]
    for lock in ("LockedPlanningSceneContextManagerRW", "LockedPlanningSceneContextManagerRO"):
        homes.append(
            define(
                planning, lock, __enter__=lambda me: made(classes["PlanningScene"]), __exit__=lambda me, *error: None
            )
        )
    result = {name: types.ModuleType(name) for name in {"moveit", "moveit.core", *(module for module, _ in homes)}}
    for module, name in homes:
        setattr(result[module], name, classes[name])
    return result


def install(robot, patch=sys.modules.__setitem__):
    """Put the modules where imports find them."""
    for name, module in modules(robot).items():
        patch(name, module)
