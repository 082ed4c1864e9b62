"""The bake-off: suites, episodes, records, metrics, reports."""
