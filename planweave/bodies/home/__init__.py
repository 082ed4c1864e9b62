"""The household body: VirtualHome, in a built-in simulator or in Unity."""
