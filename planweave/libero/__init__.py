"""LIBERO and LIBERO-PRO: the states of their simulator as worlds of the domain `kitchen`, their goals as literals."""
