"""Arm drivers: the interface `base.Arm`, and one file per kind of controller."""
