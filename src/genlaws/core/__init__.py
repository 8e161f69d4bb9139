"""Numerical parts that every system uses: checks of arguments, Gaussian integrals, root finding."""
