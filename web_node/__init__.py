"""The page as a node; see `node`."""
