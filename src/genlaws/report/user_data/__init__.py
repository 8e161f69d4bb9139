"""Sections of the report on the user's data and model."""
