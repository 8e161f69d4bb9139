"""What the report says about the reader's own data and model."""
