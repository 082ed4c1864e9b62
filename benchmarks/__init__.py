"""Measuring Planweave: tasks, metrics, runners. Imports every room; nothing imports it."""
