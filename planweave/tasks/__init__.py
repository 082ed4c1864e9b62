"""Task queue, dry runs, and the object names in a sentence."""
