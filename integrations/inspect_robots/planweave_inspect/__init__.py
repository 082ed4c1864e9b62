"""Planweave in Inspect Robots: table (embodiment and task), policy, limits (approver)."""
