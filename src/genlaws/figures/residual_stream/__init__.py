"""Figures of an analyzed residual stream."""
