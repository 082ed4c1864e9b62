"""Parameters of executor_node. The defaults suit a real arm; the simulation's file relaxes them. What differs
between robots has its default in the robot's description.
"""

from __future__ import annotations

from collections.abc import Iterable

from planweave.bodies.arm.arms.choose import ARMS, GRIPPERS, PIPELINES
from planweave.bodies.arm.robots import STAND_INS
from planweave.bodies.arm.settings import SKILL_LIST
from planweave.core.base.parameter import Parameter
from planweave.core.workflow.approval import NEAR_PEOPLE
from planweave.robots import DEFAULT, RobotDescription

ROBOT_TYPE = Parameter("robot_type", DEFAULT, "description of the robot: an installed name, or the path of a YAML file")


def parameters_of(robot: RobotDescription) -> list[Parameter]:
    """All parameters but robot_type, with the robot's own values as defaults."""
    return [*_COMMON, *_of_robot(robot)]


def skill_lists(actions: Iterable[str]) -> list[Parameter]:
    """A parameter for each action of the domain: the skills that carry it out."""
    text = "skills that carry it out, in the order in which they are tried (docs/skills.md); empty: those built in"
    return [Parameter(f"{SKILL_LIST}{name}", [""], text, changeable=True) for name in actions]


def _of_robot(robot: RobotDescription) -> list[Parameter]:
    ros = robot.ros
    found = [
        Parameter("robot", "", f"which robot this is: {', '.join(STAND_INS)}, or {robot.name} for a real one"),
        Parameter(
            "gripper",
            ros.gripper,
            "gripper driver: the actions by which it is moved, or none",
            choices=GRIPPERS,
        ),
        Parameter("arm_controller", ros.arm_controller, "name of the arm's controller"),
        Parameter("gripper_controller", ros.gripper_controller, "name of the fingers' controller"),
        Parameter("hand", ros.hand, "name of the node of a hand with its own actions"),
        Parameter("base_frame", robot.base, "name of the robot's base frame, in which detections must be"),
        Parameter(
            "joint_state_topics", list(ros.joint_state_topics), "where measured states of arm and fingers come from"
        ),
        Parameter(
            "observe_pose", list(robot.observe), "joint positions that leave the camera a free view of the table, rad"
        ),
    ]
    if ros.driver:
        found += [
            Parameter(
                "collision_torques",
                list(ros.collision_torques),
                "external torques of the joints at which the arm stops itself, Nm",
            ),
            Parameter(
                "collision_forces",
                list(ros.collision_forces),
                "external force, N, and torque, Nm, at the hand at which it stops itself: x, y, z and about them",
            ),
        ]
    return found


_COMMON = [
    Parameter("domain", "tabletop", "planning domain under config/domains"),
    Parameter("workspace", "tabletop", "named places: a file under config/workspaces, or its path", changeable=True),
    Parameter(
        "arm",
        "follow",
        "who moves the joints: the action of ros2_control, or MoveIt",
        choices=ARMS,
    ),
    Parameter(
        "hand_camera", "", "file of a camera on the hand, with which it looks at what others do not show; empty: none"
    ),
    Parameter("home_gripper", True, "let a hand that needs it find its limits before its first movement"),
    Parameter("moveit_config", "", "folder of MoveIt's parameters; empty: config/moveit"),
    Parameter("moveit_pipeline", "ompl_rrtc", "how MoveIt plans", choices=PIPELINES),
    Parameter("robot_model", "", "MJCF of arm and hand for collision checks and kinematics; empty: Planweave's own"),
    Parameter(
        "speed",
        0.15,
        "share of the joint velocity limits in free motion",
        0.02,
        1.0,
        changeable=True,
    ),
    Parameter("approach_speed", 0.08, "share of the joint velocity limits near objects", 0.02, 1.0, changeable=True),
    Parameter("acceleration", 0.25, "share of the joint acceleration limits", 0.05, 1.0, changeable=True),
    Parameter("grip_force", 20.0, "force of a grasp, N", 1.0, 70.0, changeable=True),
    Parameter(
        "feel_grip",
        False,
        "where the fingers stand half open at the start, close them to feel whether they hold something",
    ),
    Parameter("largest_force", 70.0, "no grip presses harder than this, N", 1.0, 70.0, changeable=True),
    Parameter(
        "contact_force",
        40.0,
        "the hand stops pulling or pushing a drawer, door or knob at this force, N, where the arm reports its torques; "
        "0: whatever they are",
        0.0,
        200.0,
        changeable=True,
    ),
    Parameter(
        "workspace_low",
        [0.10, -0.55, 0.010],
        "lower corner of the box for the tool centre point, m, base frame: measured, with a margin",
        changeable=True,
    ),
    Parameter(
        "workspace_high",
        [0.75, 0.55, 0.80],
        "upper corner of the box for the tool centre point, m, base frame",
        changeable=True,
    ),
    Parameter("action_timeout", 180.0, "wall seconds for one action where its goal gives no time", 1.0, 3600.0),
    Parameter("joint_state_timeout", 1.0, "wall seconds without joint states before a motion fails", 0.1, 60.0),
    Parameter("image_timeout", 10.0, "wall seconds an image is waited for before an action fails", 0.1, 60.0),
    Parameter(
        "silence_timeout",
        1.5,
        "wall seconds without perception/detected_objects, while the arm rests, before WorldState.silent is set",
        1.05,
        60.0,
    ),
    Parameter(
        "verify_timeout", 8.0, "wall seconds to see an object where it was put; image_timeout at least", 0.1, 60.0
    ),
    Parameter("planning_timeout", 2.0, "seconds of processor time to plan one motion", 0.05, 60.0),
    Parameter("retries", [""], "retries before a failure is reported: rows  CODE times remedy"),
    Parameter("actions_off", [*NEAR_PEOPLE], "actions that this arm does not carry out"),
    Parameter("pushes", 0, "neighbours to push aside where they leave no grasp free; not with require_approval", 0, 10),
    Parameter("require_approval", True, "carry out only actions of plans that a person approved (feedback_node asks)"),
    Parameter("hand_over_at", [0.60, 0.0, 0.40], "where things are held out to a person, m, base frame"),
    Parameter("hand_over_force", 5.0, "force of the grip while a person pulls, N", 1.0, 70.0),
    Parameter("hand_over_timeout", 15.0, "wall seconds for a person to take the presented object", 0.1, 600.0),
    Parameter("hand_over_wait", 3.0, "wall seconds for the person's hand to go before the arm moves away", 0.0, 60.0),
]
