"""Figures of the relations paper, and of relation networks."""
