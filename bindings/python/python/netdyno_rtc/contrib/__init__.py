"""Helpers for examples; not part of the API."""
