"""The task node: tasks, action trees, methods, journal."""
