"""A household: VirtualHome, by the built-in simulator or by Unity."""
