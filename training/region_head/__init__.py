"""Training and judging perception_node's region head on simulated renders."""
