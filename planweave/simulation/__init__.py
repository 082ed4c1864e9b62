"""Simulation of the arm on a table with an RGB-D camera, in MuJoCo."""
