"""Checks of plans: validation with causes, assumptions, what blocks an action."""
