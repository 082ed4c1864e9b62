"""LIBERO's simulator as two recorded pictures of a task whose true state nobody may ask for."""

import json
from pathlib import Path

import numpy as np

from planweave.libero.client import LiberoTask, Moved, Picture

DATA = np.load(Path(__file__).parents[1] / "unit" / "data" / "libero_pictures.npz")
THINGS = json.loads(str(DATA["things"]))
ROBOT = {key: DATA[key].tolist() for key in ("joints", "gripper", "base")}
SENTENCE = "pick up the black bowl on the ramekin and place it on the plate"


def picture(name):
    """What a camera has seen."""
    depth = DATA[f"{name}_depth"].astype(np.float32) / 5000
    place = (DATA[f"{name}_{key}"] for key in ("fovy", "pos", "mat"))
    return Picture(name, DATA[f"{name}_rgb"], depth, *place)


class RecordedSimulator:
    """Pictures and an arm at rest. poisoned: names of methods that were asked for the true state."""

    def __init__(self):
        self.poisoned, self.captured, self.steps = [], [], 0

    def capture(self, camera, width, height):
        self.captured.append(camera)
        return picture(camera)

    def arm(self):
        return {"joints": ROBOT["joints"], "velocities": [0.0] * 7, "gripper": ROBOT["gripper"], "speed": [0.0, 0.0]}

    def move(self, goals):
        """Nothing moves in the pictures, whatever the joints are to do."""
        self.steps += len(list(goals))
        return Moved(self.steps, False, self.arm())

    def load(self, name, joints=False):
        """A task whose true state is wrong."""
        wrong = {"base": ROBOT["base"], "things": {"dragon_1": {"category": "dragon", "pos": [0, 0, 1]}}, "facts": []}
        return LiberoTask(name, SENTENCE, (("on", "dragon_1", "dragon_1"),), 1, wrong, {"geoms": [{"wrong": True}]})

    def state(self):
        self.poisoned.append("state")
        raise AssertionError("the true state is not to be asked for")
