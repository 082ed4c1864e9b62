"""Systems of nodes: their description, processes, environment."""
