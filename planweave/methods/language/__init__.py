"""What methods ask of a language model: prompts, requests, readings of replies and sentences."""
