"""Shared foundations of every system: argument checks, estimates, tables, file locks, seeds and numerical methods."""
