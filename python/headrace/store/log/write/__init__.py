"""Writer of a log, and upkeep of its full segments."""
