"""What a query means: names resolved, spellings made one, a program for the core."""
