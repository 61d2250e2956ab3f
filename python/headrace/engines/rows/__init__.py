"""Work on fragments of rows that every engine runs alike."""
