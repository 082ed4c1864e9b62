"""An arm over a table: grasps, kinematics, motion planning, skills, the world it knows."""
