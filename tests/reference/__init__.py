"""Slow, obvious code that the fast code is compared with."""
