"""Index builds that every engine runs alike."""
