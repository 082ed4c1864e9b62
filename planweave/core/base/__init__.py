"""Foundations of all parts: errors, names, files, entry points, options, cancellation."""
