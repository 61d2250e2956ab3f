"""Backups of a log."""
