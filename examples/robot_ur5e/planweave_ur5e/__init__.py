"""A UR5e with a Robotiq 2F-85: all there is to it is ur5e.yaml."""
