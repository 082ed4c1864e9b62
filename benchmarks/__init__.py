"""Figures of this project; not installed. python -m benchmarks"""
