"""LIBERO's robot as a node; see `node`."""
