"""The views of the explorer, one for each system."""
