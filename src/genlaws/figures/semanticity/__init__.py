"""Figures of the semanticity paper, and of measured and probed models."""
