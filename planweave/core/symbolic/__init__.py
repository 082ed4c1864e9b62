"""Domains, worlds and rules, and what an action changes."""
