"""The household body: VirtualHome, by the built-in simulator or by Unity."""
