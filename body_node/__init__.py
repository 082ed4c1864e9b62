"""Any installed body as a node; see `node`."""
