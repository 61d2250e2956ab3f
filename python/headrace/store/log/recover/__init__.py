"""Recovery of a log after a crash or damage."""
