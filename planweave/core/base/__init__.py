"""What all parts rest on: errors, names, files, entry points, options, cancellation."""
