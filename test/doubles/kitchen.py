"""The simulated kitchen without ROS: the real simulator and skills in one thread; furniture as depth cameras see it."""

from dataclasses import replace

from doubles.direct_arm import DirectArm
from doubles.kitchen_views import fixture_points
from planweave.bodies.arm.approach_planning import ApproachPlanner
from planweave.bodies.arm.furniture import Furniture, articulation_of
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.looked_world import LookedWorld, Observation
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene, Pools
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.timing import JointLimits
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal, World, WorldObject
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
        self.arm, self.domain, self.furniture = DirectArm(self.simulator), Domain.load("kitchen"), []
        planning_scene = PlanningScene(robot=self.robot, pools=Pools(boxes=600, cylinders=1, held=16))
        kinematics = Kinematics(planning_scene.model, self.robot)
        settings = SkillSettings(domain=self.domain, observe=self.robot.observe, **settings)
        safety = Safety(kinematics, JointLimits.of(self.robot).scaled(settings.speed, settings.acceleration))
        self.world = LookedWorld(self.look, lambda: self.arm.state().positions, self.domain, kinematics, safety)
        planner = MotionPlanner(planning_scene, kinematics)
        reaching = ApproachPlanner(planning_scene, kinematics, planner, seconds=30.0)
        self.skills = Skills(self.arm, planning_scene, reaching, safety, self.world, settings)

    def look(self, world):
        """What two cameras with noise see of each piece of furniture now."""
        self.travels = world._travels
        before = {each.name: list(each.joints.values()) for each in self.furniture}
        found = []
        for index, fixture in enumerate(self.scene.fixtures):
            points = fixture_points(self.simulator, index, seed=self._seed)
            self._seed += 1
            seen = fixture_of(find_body(points, 0.0), points, fixture.kind)
            joints = remembered(before.get(fixture.kind, ()), seen.joints)
            furniture = Furniture.of(replace(seen, joints=tuple(joints)))
            found.append(furniture.with_travels(self.travels))
        self.furniture = found
        things = [thing for each in found for thing in each.things(self.domain)]
        facts = {fact for each in found for fact in each.facts()} | {Literal("hand_empty")}
        objects = [WorldObject(t.name, t.type, t.class_name, {}, t.position, None, t.size) for t in things]
        objects += [
            WorldObject(n, "part", "drawer") for each in found for n, j in each.joints.items() if j.kind == "slide"
        ]
        objects = list({o.name: o for o in objects}.values())
        facts |= {Literal("reachable", (o.name,)) for o in objects}
        world = World("kitchen", tuple(objects), frozenset(facts), self.simulator.time)
        return Observation(world, tuple(things), self.simulator.time, self.articulation)

    def articulation(self, name):
        """Of the newest look."""
        return articulation_of(self.furniture, name)

    def true(self, part):
        """How far a part of the first piece of furniture is open, in the simulator."""
        return self.simulator.fixture_joints()[f"fixture_0_{part}"]
