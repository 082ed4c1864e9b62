"""The simulated kitchen by its cameras, with the skills that act in it, in one thread and without ROS."""

from doubles.direct_arm import DirectArm
from doubles.kitchen_cameras import SeenKitchen
from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.looked_world import LookedWorld, observation_of
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene, Pools
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.thing_builder import ThingBuilder
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.workspace import load_workspace
from planweave.core.planning.solver import solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal


class ActingKitchen(SeenKitchen):
    """A scene that is looked at with all cameras whenever an image is waited for, and the arm's skills."""

    def __init__(self, objects):
        """objects: lines of a scene file."""
        super().__init__(objects)
        simulator, robot = self.simulator, self.simulator.robot
        self.data.qpos[simulator._arm] = robot.home
        self.arm, self.domain = DirectArm(simulator), Domain.load("kitchen")
        builder = ThingBuilder(self.domain)
        self.after_look = lambda: None  # called before each look: what a person does meanwhile

        def look(world, times=2):
            self.after_look()
            seen = self.look(times)
            return observation_of(builder, (o.seen() for o in seen.objects), seen.fixtures, simulator.time)

        scene = PlanningScene(robot=robot, pools=Pools(boxes=900, cylinders=4, held=130))
        kinematics = Kinematics(scene.model, robot)
        settings = SkillSettings(domain=self.domain, observe=robot.observe, verify_seconds=3.0)
        safety = Safety(kinematics, JointLimits.of(robot).scaled(settings.speed, settings.acceleration))
        joints, places = (lambda: self.arm.state().positions), load_workspace("kitchen")
        self.world = LookedWorld(look, joints, self.domain, kinematics, safety, places=places)
        reaching = ApproachPlanner(scene, kinematics, MotionPlanner(scene, kinematics), seconds=30.0)
        self.skills = Skills(self.arm, scene, reaching, safety, self.world, settings)
        self.skills.context.go_observe()
        for _ in range(2):
            self.world.wait_for_detections(0.0, 0.0)

    def facts(self):
        """What is known now, as text."""
        return {str(fact) for fact in self.world.world().facts}

    def do(self, *goal):
        """Plan for a goal, and carry out the plan; the plan."""
        plan = solve(self.domain, self.world.world(), [Literal.parse(text) for text in goal])
        for action in plan:
            self.skills.run(action)
        return [str(action) for action in plan]

    def true(self, index):
        """Where an object of the scene is, (x, y, z) m."""
        return self.simulator.object_pose(index)[0]
