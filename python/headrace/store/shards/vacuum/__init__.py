"""Removal of generations and temporary files that no reader needs."""
