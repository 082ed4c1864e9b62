"""The arm body: grasps, kinematics, motion planning, skills, world model."""
