"""Test doubles, named for what they stand in for. Nothing here ships with the product."""
