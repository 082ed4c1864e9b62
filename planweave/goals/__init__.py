"""A sentence to goal literals: controlled English, the questions it answers, what stays unclear."""
