"""Language models: clients, embeddings, requests with deadlines and budgets, parsing of replies, accounting."""
