"""Bodies: what carries out actions and reports a world."""
