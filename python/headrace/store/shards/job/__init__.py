"""Jobs of many processes that write one set."""
