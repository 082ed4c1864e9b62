"""Robot descriptions, one file each."""
