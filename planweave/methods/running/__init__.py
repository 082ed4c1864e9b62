"""A method's run: its episode, journal and options."""
