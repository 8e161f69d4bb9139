"""Claims of the rules-and-facts paper and their checks."""
