"""Reading of sentences as goal literals: a controlled-English grammar, question answering, goal checks."""
