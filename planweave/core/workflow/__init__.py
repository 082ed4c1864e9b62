"""A task from start to end: its ports, questions, approvals, pauses, and how it is named."""
