"""Clients of language models, embeddings, asking with deadlines and budgets, reading replies, accounting."""
