"""The sections of the report, one for each system."""
