"""The experiments of the four systems, each a settings model and a function of one cell."""
