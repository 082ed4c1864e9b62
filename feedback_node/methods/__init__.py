"""Planning methods: one file each, and this table. A method's ``run(episode)`` acts until it has nothing left to do."""

from feedback_node.methods.classical import Classical
from feedback_node.methods.tree_planner import TreePlanner

METHODS = {"tree_planner": TreePlanner, "classical": Classical}
