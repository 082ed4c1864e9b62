"""Formulas, and the reader of PDDL domains and problems."""
