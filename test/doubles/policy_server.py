"""A scripted server in openpi's protocol: it answers with motions that our own planner made, or with a fault."""

import contextlib
import threading
import time

import msgspec
import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from doubles.scripted_arm import Bench, ScriptedArm
from planweave.bodies.arm.policy.openpi import pack, unpack
from planweave.core.symbolic.world import Action

CHUNK, EXECUTE, RATE = 10, 8, 15.0
CONTRACT = """
server: ws://127.0.0.1:{port}
joints: 7
pictures: {{image: {{camera: {camera}, size: 64}}}}
state: {{joints: joints, gripper: gripper}}
kind: {kind}
gripper: {{open: 0.0, closed: 1.0}}
rate: {rate}
chunk: {chunk}
execute: {execute}
reply_seconds: {reply}
first_reply_seconds: {reply}
seconds: {seconds}
"""


class RecordingArm(ScriptedArm):
    """rows: joint positions and the value of the gripper (0 open, 1 closed) that a motion goes through."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def follow(self, trajectory, watch=None):
        super().follow(trajectory, watch)
        closed = float(self.width < 0.06)
        self.rows += [np.array([*q, closed]) for q in trajectory.dense(0.08)]

    def grip(self, width, force, wait=True):
        found = super().grip(width, force, wait)
        if wait:
            self.rows.append(np.array([*self.q, float(width < 0.06)]))
        return found


def recorded(planning_scene, things, text):
    """The rows of our own skill for an action on a table of these things."""
    planning_scene.detach()
    bench = Bench(planning_scene, arm=RecordingArm())
    bench.world.show(*things)
    for each in text.split("; "):
        bench.arm.rows.clear()
        bench.skills.run(Action.parse(each))
    planning_scene.detach()
    return np.array(bench.arm.rows)


class ScriptedPolicy:
    """Gives the next rows of a recording with each observation; at its end it stands still."""

    def __init__(self, rows):
        self.rows, self.at, self.seen = rows, 0, []

    def __call__(self, observation):
        self.seen.append(observation)
        rest = self.rows[self.at : self.at + CHUNK]
        # No row is jumped over: what is after the first change of the fingers is asked for again.
        change = np.flatnonzero(rest[:EXECUTE, -1] != rest[0, -1]) if len(rest) else []
        closed = float(observation["gripper"][0] > 0.25)
        if len(rest) and rest[0, -1] != closed:
            self.at += 1
        else:
            self.at += int(change[0]) if len(change) else EXECUTE
        if not len(rest):
            rest = self.rows[-1:]
        return np.vstack([rest, np.repeat(rest[-1:], CHUNK - len(rest), axis=0)])


class PolicyServer:
    """answer: called with an observation, gives actions, bytes or a text to send as they are, or raises to die.

    greeting: what is sent first. keys: the authorization of each connection.
    """

    def __init__(self, answer, greeting=None, delay=0.0):
        self.answer, self.delay, self.keys = answer, delay, []
        self.greeting = pack({"policy": "scripted"}) if greeting is None else greeting
        self._server = serve(self._handle, "127.0.0.1", 0, compression=None, max_size=None)
        self.port = self._server.socket.getsockname()[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def _handle(self, socket):
        self.keys.append(socket.request.headers.get("Authorization"))
        socket.send(self.greeting)
        for message in socket:
            found = self.answer(unpack(message))
            time.sleep(self.delay)
            with contextlib.suppress(ConnectionClosed):
                socket.send(pack({"actions": found}) if isinstance(found, np.ndarray) else found)

    def contract(self, folder, kind="joint_positions", seconds=20.0, reply=1.0, rate=RATE, camera="overhead"):
        """Path of a contract for this server."""
        path = folder / "scripted.yaml"
        values = {"port": self.port, "kind": kind, "seconds": seconds, "reply": reply, "rate": rate, "camera": camera}
        path.write_text(CONTRACT.format(**values, chunk=CHUNK, execute=EXECUTE))
        return path

    def close(self):
        self._server.shutdown()
        self._thread.join(5.0)


def same(rows):
    """An answer that is always the same."""
    return lambda observation: rows


def malformed():
    """A map that says to be an array and has too few bytes."""
    array = {b"__ndarray__": True, b"data": b"1234", b"dtype": "<f8", b"shape": [CHUNK, 8]}
    return msgspec.msgpack.encode({"actions": array})
