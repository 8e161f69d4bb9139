"""Claims of the semanticity paper and their checks."""
