"""The simulated kitchen without ROS: the real simulator and skills in one thread; furniture as depth cameras see it."""

from dataclasses import replace

from doubles.direct_arm import DirectArm
from doubles.kitchen_views import fixture_points
from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.symbolic.domain import Domain
from planweave.perception.articulation import remembered
from planweave.perception.carcass import find_body
from planweave.perception.fixtures import fixture_of
from planweave.robots import load_robot
from planweave.robots.camera_file import load_camera
from planweave.simulation.mujoco_model import build_model
from planweave.simulation.simulator import Simulator


class Kitchen:
    """Furniture of a scene, looked at anew after each skill, and the skills that move it."""

    def __init__(self, scene, seed=0, **settings):
        self.robot = load_robot()
        self.scene, self._seed = scene, seed
        self.simulator = Simulator(build_model(scene, load_camera(), robot=self.robot), scene, self.robot)
        self.arm, self.domain, self._seen = DirectArm(self.simulator), Domain.load("kitchen"), {}
        planning_scene = PlanningScene(robot=self.robot)
        kinematics = Kinematics(planning_scene.model, self.robot)
        settings = SkillSettings(domain=self.domain, observe=self.robot.observe, **settings)
        safety = Safety(kinematics, JointLimits.of(self.robot).scaled(settings.speed, settings.acceleration))
        self.world = self.arm.world = WorldModel(self.domain, (), kinematics, safety, look=self.look)
        self.look()
        while not self.world.things():  # that only furniture is there is believed after some looks
            self.tell()
        planner = MotionPlanner(planning_scene, kinematics)
        reaching = ApproachPlanner(planning_scene, kinematics, planner, seconds=30.0)
        self.skills = Skills(self.arm, planning_scene, reaching, safety, self.world, settings)

    def look(self):
        """Tell the world what two cameras with noise see of each piece of furniture now."""
        for index, fixture in enumerate(self.scene.fixtures):
            points = fixture_points(self.simulator, index, seed=self._seed)
            self._seed += 1
            seen = fixture_of(find_body(points, 0.0), points, fixture.kind)
            before = self._seen[fixture.kind].joints if fixture.kind in self._seen else ()
            self._seen[fixture.kind] = replace(seen, joints=tuple(remembered(before, seen.joints)))
        self.tell()

    def tell(self):
        """Tell the world what was seen last."""
        self.world.on_seen((), self._seen.values(), self.simulator.time)

    def articulation(self, name):
        """Of the newest look."""
        return self.world.articulation(name)

    def true(self, part):
        """How far a part of the first piece of furniture is open, in the simulator."""
        return self.simulator.fixture_joints()[f"fixture_0_{part}"]
