"""A learned policy behind a server as a skill: what it is sent, what of its answers is made, and each of its faults."""

import socket
from dataclasses import replace

import numpy as np
import pytest
import yaml
from codes import raises_code
from doubles import policy_server
from doubles.policy_server import CHUNK, PolicyServer, ScriptedPolicy, malformed, recorded, same
from doubles.scripted_arm import FR3, Bench

from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import downwards
from planweave.bodies.arm.policy.contract import load_contract
from planweave.bodies.arm.policy.openpi import KEY, PolicyError, pack, unpack
from planweave.bodies.arm.policy.skill import steps_of
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.skills.door import make_skill
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action

RED = Thing("red_cube", "item", "cube", (0.45, 0.0, 0.025), (0.05,) * 3)
BLUE = replace(RED, name="blue_cube", position=(0.5, -0.2, 0.025))
TRAY = Thing("tray", "container", "tray", (0.58, 0.35, 0.015), (0.20, 0.26, 0.03), shape="hollow")
THINGS = RED, BLUE, TRAY
GRASP = Action("grasp", ("red_cube",))
HOME = np.array(FR3.home)
STILL = np.array([[*HOME, 0.0]] * CHUNK)
PICTURE = np.full((48, 96, 3), 200, np.uint8)


@pytest.fixture(scope="module")
def grasp_rows(planning_scene):
    return recorded(planning_scene, THINGS, "grasp(red_cube)")


@pytest.fixture
def table(planning_scene, tmp_path, monkeypatch):
    """Makes a table whose actions of one name are carried out by the policy of a server, then by other skills."""
    servers = []

    def make(server, name="grasp", then=(), pictures=lambda camera, check: PICTURE, **contract):
        servers.append(server)
        path = server.contract(tmp_path, **contract)
        planning_scene.detach()
        bench = Bench(planning_scene, skills={name: (f"policy:{path}", *then)}, pictures=pictures)
        bench.world.show(*THINGS)
        return bench

    yield make
    for server in servers:
        server.close()


def test_a_policy_that_does_it_succeeds(table, grasp_rows):
    policy = ScriptedPolicy(grasp_rows)
    bench = table(PolicyServer(policy))
    outcome = bench.body.execute(GRASP)
    assert outcome.code is Code.SUCCESS, outcome.message
    assert bench.world.held.thing.name == "red_cube" and bench.world.tips_height > 0.05
    first = policy.seen[0]
    assert first["prompt"] == bench.domain.phrase(GRASP)
    assert first["image"].shape == (64, 64, 3) and first["image"].dtype == np.uint8
    assert (first["image"][:16] == 0).all() and (first["image"][20:40] == 200).all(), "padded to a square"
    assert np.allclose(first["joints"], HOME) and first["gripper"] == pytest.approx([0.0])


def test_a_policy_places_what_is_held(table, planning_scene):
    rows = recorded(planning_scene, THINGS, "grasp(red_cube); place_in(red_cube, tray)")
    bench = table(PolicyServer(ScriptedPolicy(rows)), name="place_in")
    assert bench.body.execute(GRASP).ok
    outcome = bench.body.execute(Action("place_in", ("red_cube", "tray")))
    assert outcome.code is Code.SUCCESS, outcome.message
    assert bench.world.held is None


def test_after_a_policy_that_fails_our_own_skill_is_tried(table):
    bench = table(PolicyServer(same(STILL)), then=["grasping"])
    outcome = bench.body.execute(GRASP)
    assert outcome.ok and "by grasping, after policy:" in outcome.message and "hand_empty" not in outcome.message


def too_far():
    rows = STILL.copy()
    rows[3:, 0] += 1.0
    return rows


def with_value(value):
    rows = STILL.copy()
    rows[2, 4] = value
    return rows


FAULTS = {
    "stalls": (same(STILL), {}, Code.GRASP_LOST, "red cube"),
    "never ends": (lambda o: STILL + [[*np.full(7, 0.02 * float(o["joints"][0] <= HOME[0])), 0]], {"seconds": 1.0},
                   Code.GRASP_LOST, "red cube"),
    "drifts": (lambda o: np.tile([*(o["joints"] + [0, 0.05, 0, 0, 0, 0, 0]), 0], (CHUNK, 1)), {},
               Code.COLLISION, "red_cube against fr3_link6"),
    "NaN": (same(with_value(np.nan)), {}, Code.CONTROL_FAILED, "finite"),
    "infinite": (same(with_value(np.inf)), {}, Code.CONTROL_FAILED, "finite"),
    "degrees": (same(np.rad2deg(STILL)), {}, Code.CONTROL_FAILED, "step 1 "),
    "a jump": (same(too_far()), {}, Code.CONTROL_FAILED, "step 4 "),
    "fewer steps": (same(STILL[:4]), {}, Code.CONTROL_FAILED, "(4, 8)"),
    "another arm": (same(np.zeros((CHUNK, 7))), {}, Code.CONTROL_FAILED, "(10, 7)"),
    "numbers as a list": (lambda o: pack({"actions": STILL.tolist()}), {}, Code.CONTROL_FAILED, " list,"),
    "garbage": (lambda o: b"\xc1\xff garbage", {}, Code.CONTROL_FAILED, "msgpack"),
    "malformed": (lambda o: malformed(), {}, Code.CONTROL_FAILED, "4 bytes"),
    "no actions": (lambda o: pack({"server_timing": {}}), {}, Code.CONTROL_FAILED, "'actions'"),
    "an error": (lambda o: "Traceback ...\nKeyError: 'state'", {}, Code.CONTROL_FAILED, "KeyError: 'state'"),
    "dies": (lambda o: 1 / 0, {}, Code.CONTROL_FAILED, "1011"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_it_at_rest_and_is_no_success(table, fault, caplog):
    answer, contract, code, datum = FAULTS[fault]
    bench = table(PolicyServer(answer), **contract)
    outcome = bench.body.execute(GRASP)
    assert outcome.code is code and datum in outcome.message
    assert bench.world.held is None and bench.arm.state().still


def test_a_reply_that_comes_too_late_is_not_taken_for_the_next_one(table):
    server = PolicyServer(same(STILL), delay=2.0)
    bench = table(server, reply=0.2)
    outcome = bench.body.execute(GRASP)
    assert outcome.code is Code.CONTROL_FAILED and " 0.2 s" in outcome.message
    server.delay = 0.0
    assert bench.body.execute(GRASP).code is Code.GRASP_LOST, "a new connection, and an answer of its own"


@pytest.mark.parametrize("connects", [True, False])
def test_a_cancel_is_heard_while_the_policy_thinks_or_its_server_says_nothing(table, connects):
    server = PolicyServer(same(STILL), delay=3.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        if not connects:
            server.port = silent.getsockname()[1]
        bench = table(server, reply=10.0)
        calls = []

        def check():
            calls.append(1)
            if len(calls) > 5:
                raise SkillFailureError(Code.CANCELED, "cancelled")

        bench.arm.check = check
        assert bench.body.execute(GRASP).code is Code.CANCELED


@pytest.mark.parametrize("greeting", ["hello", b"\xc1", pack([1, 2])], ids=["text", "no msgpack", "no map"])
def test_a_server_of_another_protocol_is_told(table, greeting):
    bench = table(PolicyServer(same(STILL), greeting=greeting))
    outcome = bench.body.execute(GRASP)
    assert outcome.code is Code.CONTROL_FAILED


def test_no_server_is_told_with_what_to_do(table):
    server = PolicyServer(same(STILL))
    bench = table(server)
    server.close()
    outcome = bench.body.execute(GRASP)
    assert outcome.code is Code.CONTROL_FAILED and "serve_policy.py" in outcome.message


def test_without_a_fresh_picture_the_policy_is_not_asked(table):
    policy = ScriptedPolicy(STILL)
    bench = table(PolicyServer(policy), pictures=lambda camera, check: None)
    outcome = bench.body.execute(GRASP)
    assert "camera overhead" in outcome.message and not policy.seen


def test_another_object_is_not_grasped(table, planning_scene):
    rows = recorded(planning_scene, THINGS, "grasp(blue_cube)")
    bench = table(PolicyServer(ScriptedPolicy(rows)))
    outcome = bench.body.execute(GRASP)
    assert outcome.code in (Code.COLLISION, Code.CONTROL_FAILED), outcome.message
    assert "blue_cube" in outcome.message and bench.world.held is None and not [w for w in bench.arm.grips if w < 0.05]


def test_it_may_touch_nothing_but_what_the_action_names(table):
    server = PolicyServer(same(STILL))
    bench = table(server)
    kinematics = bench.skills.reaching.kinematics
    into = kinematics.ranked(downwards(0.5, -0.175, 0.03, 0.0), HOME)[0]  # a finger in the blue cube
    server.answer = ScriptedPolicy(np.column_stack([np.linspace(HOME, into, 120), np.zeros(120)]))
    outcome = bench.body.execute(GRASP)
    assert outcome.code is Code.COLLISION and "blue_cube" in outcome.message and not bench.arm.grips


def test_every_bad_step_of_a_thousand_is_caught(table, tmp_path):
    """None of them reaches the arm: beyond a joint's limit, too fast, out of the workspace, no number."""
    bench = table(PolicyServer(same(STILL)))
    contract, safety = load_contract(str(tmp_path / "scripted.yaml")), bench.skills.context.arm.safety
    rng, caught = np.random.default_rng(3), 0
    velocity = np.array(FR3.velocity)
    for index in range(1000):
        joints, joint = HOME.copy(), rng.integers(7)
        kind = index % 3
        if kind == 0:  # beyond a limit of a joint
            limit = safety.kinematics.upper if rng.random() < 0.5 else safety.kinematics.lower
            start = joints.copy()
            joints[joint] = limit[joint] + np.sign(limit[joint] - HOME[joint]) * rng.uniform(0.01, 0.5)
            start[joint] = joints[joint]
        elif kind == 1:  # too fast
            start = joints.copy()
            joints[joint] += rng.choice([-1, 1]) * velocity[joint] / contract.rate * rng.uniform(1.05, 3.0)
        else:  # out of the workspace
            start = joints = outside(safety, rng)
        actions = np.tile([*joints, 0.0], (CHUNK, 1))
        try:
            steps_of(contract, actions, start, safety)
        except SkillFailureError as error:
            caught += error.action_code is Code.CONTROL_FAILED
    assert caught == 1000


def outside(safety, rng):
    """Joint positions within the limits with the tool out of the workspace."""
    while True:
        q = rng.uniform(safety.kinematics.lower, safety.kinematics.upper)
        if not safety.allows_point(*safety.kinematics.forward(q)[:3, 3]):
            point = safety.kinematics.forward(q)[:3, 3]
            low, high = np.array(safety.workspace_low), np.array(safety.workspace_high)
            if (point < low - 0.01).any() or (point > high + 0.01).any():
                return q


@pytest.mark.parametrize("kind", ["joint_deltas", "tool_deltas"])
def test_deltas_lead_to_where_they_say(table, tmp_path, kind):
    bench = table(PolicyServer(same(STILL)), kind=kind)
    contract, safety = load_contract(str(tmp_path / "scripted.yaml")), bench.skills.context.arm.safety
    row = [0.01] * 7 if kind == "joint_deltas" else [0.0, 0.01, -0.005, 0.0, 0.0, 0.02]
    steps = steps_of(contract, np.tile([*row, 1.0], (CHUNK, 1)), HOME, safety)
    assert len(steps) == policy_server.EXECUTE and all(step.closed for step in steps)
    if kind == "joint_deltas":
        assert np.allclose(steps[-1].joints, HOME + 0.08)
    else:
        pose, before = safety.kinematics.forward(steps[-1].joints), safety.kinematics.forward(HOME)
        assert np.allclose(pose[:3, 3] - before[:3, 3], [0.0, 0.08, -0.04], atol=1e-6)


def test_the_key_is_sent_as_openpi_wants_it(table, monkeypatch):
    server = PolicyServer(same(STILL))
    monkeypatch.setenv(KEY, "s3cret")
    table(server).body.execute(GRASP)
    assert server.keys == ["Api-Key s3cret"]


@pytest.mark.parametrize(
    ("line", "data"),
    [
        ("execute: 11", ("execute: 11", "10")),
        ("kind: joint_velocity", "'joint_velocity'"),
        ("kind: tool_deltas\nchunk: 0", ("chunk", "1 to 500")),
        ("gripper: {open: 1, closed: 1}", ("gripper", "open", "closed")),
        ("server: http://localhost", ("server", "ws://", "http://localhost")),
        ("rate: fast", ("rate", "1 to 200", "fast")),
        ("state: {joints: angles}", "'angles'"),
        ("pictures: {image: {camera: top}}", ("pictures.image", "'size'")),
        ("steps: 8", "'steps'"),
    ],
)
def test_a_wrong_contract_is_told_with_its_key(tmp_path, line, data):
    values = {"kind": "joint_positions", "rate": 15, "chunk": 10, "execute": 8, "reply": 1, "seconds": 9}
    text = policy_server.CONTRACT.format(port=1, camera="top", **values)
    path = tmp_path / "wrong.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(text), **yaml.safe_load(line)}))
    with raises_code("configuration", data):
        make_skill(f"policy:{path}")


def test_a_policy_names_its_contract_and_fits_the_robot(table):
    with raises_code("configuration", "policy:droid"):
        make_skill("policy")
    assert load_contract("droid").width == 8
    bench = table(PolicyServer(same(STILL)))
    skill = next(iter(bench.skills._lists["grasp"].values()))
    skill.contract = replace(skill.contract, joints=6)
    with raises_code("invalid_action", "6 joints", "fr3 has 7"):
        bench.skills.able(GRASP)


def test_what_is_packed_is_unpacked():
    for array in (np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 2, 3), np.uint8), np.zeros(0)):
        found = unpack(pack({"a": array, "b": "text"}))
        assert np.array_equal(found["a"], array) and found["a"].dtype == array.dtype and found["b"] == "text"
    with pytest.raises(PolicyError):
        unpack(pack({"a": {b"__ndarray__": True, b"data": b"", b"dtype": "O", b"shape": [0]}}))
