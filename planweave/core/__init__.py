"""The core, in packages. Each imports from those above it in this list alone.

base: errors, names, files, entry points, cancellation; pddl: formulas, and their reader; symbolic: domains, worlds,
rules, transitions; checks: validation with causes, assumptions, blocking; planning: the classical planner; trees:
action trees, behaviour trees, programs; workflow: ports, tasks, questions, approvals, pauses.
"""
