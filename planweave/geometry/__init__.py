"""Geometry of objects on a table: their shapes in top view, and the relations that follow from their poses."""
