"""Indexes of files and sets, built, updated, checked and read."""
