"""The Franka body: grasps, kinematics, motion planning, skills; carries out actions and reports the world."""
