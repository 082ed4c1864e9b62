"""The queue of tasks, dry runs, what a sentence names."""
