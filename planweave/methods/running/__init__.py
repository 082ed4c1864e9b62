"""A method's run: its episode, journal and options, and what a pause does to it."""
