"""Arguments that several commands share, one module a family."""
