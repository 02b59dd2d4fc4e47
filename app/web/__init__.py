"""Pages of the web as text for the model."""
