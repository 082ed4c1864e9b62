"""Learned policies behind a server as skills of the arm: contract, protocol, steps, skill."""
