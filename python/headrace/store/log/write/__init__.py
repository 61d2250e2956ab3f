"""The writer of a log, and what it does to full segments."""
