"""Claims of the relations paper and their checks."""
