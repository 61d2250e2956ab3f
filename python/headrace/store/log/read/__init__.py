"""Readers of a log: by line, by time, as a source, as a consumer."""
