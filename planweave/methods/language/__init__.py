"""Requests of methods to a language model: prompts, requests, readings of replies and sentences."""
