"""What a pipeline keeps in its directory between runs."""
