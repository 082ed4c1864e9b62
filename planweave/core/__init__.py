"""Domain, world, transition, plan, action tree, validation with causes, failures, errors, budgets, ports."""
