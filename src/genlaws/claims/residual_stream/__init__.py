"""Claims of the residual-stream paper and their checks."""
