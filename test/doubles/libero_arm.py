"""A stand-in for LIBERO's simulator: joints behind its stiff controller, fingers that stop at what is between them."""

import math

from planweave.libero.client import Moved

RATE = 30.0  # of the controller, 1/s: the square root of its gain


class JointsSimulator:
    """Joints that follow their goals as a critically damped controller has them; between: width held, m."""

    def __init__(self, start, between=0.0, blocked_at=math.inf, done_at=math.inf):
        self.q, self.v = list(start), [0.0] * 7
        self.goal, self.fingers, self.told, self.count = list(start), 0.04, 0.04, 0
        self.between, self.blocked_at, self.done_at = between, blocked_at, done_at
        self.speed = 0.0

    def arm(self):
        return {
            "joints": list(self.q),
            "velocities": list(self.v),
            "gripper": [self.fingers, -self.fingers],
            "speed": [self.speed, -self.speed],
        }

    def move(self, goals):
        for goal in goals:
            self.count += 1
            last, self.goal = self.goal, list(goal[:7])
            for part in range(1, 26):
                for joint in range(7):
                    told = last[joint] + (self.goal[joint] - last[joint]) * part / 25
                    pull = RATE * RATE * (told - self.q[joint]) - 2 * RATE * self.v[joint]
                    self.v[joint] += 0.002 * pull
                    self.q[joint] += 0.002 * self.v[joint]
                if self.q[0] > self.blocked_at:
                    self.q[0], self.v[0] = self.blocked_at, 0.0
            before = self.fingers
            self.told = min(max(self.told - 0.005 * goal[7], 0.0), 0.04)
            self.fingers = max(self.fingers + 0.5 * (self.told - self.fingers), self.between / 2)
            self.speed = (self.fingers - before) / 0.05
        return Moved(self.count, self.count >= self.done_at, self.arm())
