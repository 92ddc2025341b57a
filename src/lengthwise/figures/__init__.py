"""Pictures, drawn from pages and results; they compute nothing."""
