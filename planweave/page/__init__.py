"""The page of a running system: the robot and what is seen around it in 3D, tasks to give, watch, approve and stop."""
