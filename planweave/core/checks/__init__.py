"""What follows of a plan: validation with causes, assumptions, what blocks an action."""
