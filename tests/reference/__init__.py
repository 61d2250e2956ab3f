"""Slow, obvious implementations for comparison with the fast ones."""
