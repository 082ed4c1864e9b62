"""A stand-in for LIBERO's simulator process: it answers as the command line says.

`plays SCENES STEPS`: loads tasks from a file of scenes (test/unit/data/libero_scenes.json.gz); its checker says that
the goal holds after so many steps, 0 for never. Tasks of libero_spatial are refused, as where a file is missing; at the
first step in libero_object it dies; in libero_goal/9 its checker raises.
"""

import gzip
import json
import os
import sys
import time
from pathlib import Path

MANNER = sys.argv[1]


class Played:
    """The task that is loaded."""

    def __init__(self, scenes, needed):
        self.scenes = json.loads(gzip.decompress(Path(scenes).read_bytes()))
        self.needed, self.name, self.steps = int(needed), "", 0

    def answer(self, command):
        """What the simulator says, and the bytes after it."""
        if command["do"] == "load":
            return self.load(f"{command['suite']}/{command['task']}"), b""
        if command["do"] in ("step", "move"):
            return self.step(len(command.get("actions", command.get("goals", ())))), b""
        if command["do"] == "film":
            data = bytes(3 * command["width"] * command["height"]) * min(3, command["most"])
            return {"bytes": len(data)}, data
        return {"state": self.state}, b""

    @property
    def state(self):
        """The state of the scene; it never changes."""
        return {key: self.scenes[self.name][key] for key in ("things", "sites", "facts")}

    def load(self, name):
        """A task in any of its initial states."""
        if name.startswith("libero_spatial/"):
            return {"error": "FileNotFoundError: no such file: pick_up.pruned_init"}
        self.name, self.steps = name, 0
        scene = self.scenes[name]
        told = {"language": scene["language"], "goal": scene["goal"], "inits": 50, "geometry": {}}
        return {**told, "state": self.state}

    def step(self, count):
        """Steps in which nothing happens but that the goal holds at some time."""
        if self.name.startswith("libero_object/"):
            print("free(): invalid pointer", file=sys.stderr, flush=True)
            raise SystemExit(1)
        if self.name == "libero_goal/9":
            return {"error": "KeyError: 'plate_1' in check_success"}
        self.steps += count
        done = 0 < self.needed <= self.steps
        first = self.needed if done else None
        return {"steps": self.steps, "success": done, "first": first, "state": self.state}


played = Played(*sys.argv[2:]) if MANNER == "plays" else None
for line in sys.stdin.buffer:
    command = json.loads(line)
    if MANNER == "dies":
        print("out of memory", file=sys.stderr, flush=True)
        raise SystemExit(1)
    if MANNER == "closes":
        os.close(1)
    if MANNER in ("hangs", "closes"):
        time.sleep(60)
    if MANNER == "babbles":
        sys.stdout.write("this is no JSON\n")
    elif MANNER == "refuses":
        sys.stdout.write(json.dumps({"error": "ValueError: no such thing"}) + "\n")
    elif played is not None:
        answer, data = played.answer(command)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    elif command["do"] == "render":
        size = command["width"] * command["height"]
        camera = {"fovy": 45.0, "pos": [0.0, 0.0, 1.0], "mat": [1, 0, 0, 0, 1, 0, 0, 0, 1]}
        sys.stdout.write(json.dumps({"bytes": 7 * size, "camera": camera}) + "\n")
        sys.stdout.flush()
        sys.stdout.buffer.write(bytes(range(3)) * size + b"\x00\x00\x80?" * size)
    else:
        sys.stdout.write(json.dumps({"suites": {"libero_goal": 10}, "steps": 2, "success": True, "state": {}}) + "\n")
    sys.stdout.flush()
