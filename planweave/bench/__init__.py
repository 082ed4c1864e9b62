"""Comparison of planning methods: suites, episodes, records, metrics, reports."""
