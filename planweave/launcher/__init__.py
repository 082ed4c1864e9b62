"""Launching systems of nodes: description, processes, environment."""
