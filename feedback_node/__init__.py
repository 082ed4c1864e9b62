"""Everything that closes the loop: tasks, action trees, methods, journal."""
