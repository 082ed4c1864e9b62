"""The classical planner: its input, its search, and what rules leave of it."""
