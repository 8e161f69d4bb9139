"""Numerical methods that every system uses: roots, minima, Gaussian integrals, sums of exponentials."""
