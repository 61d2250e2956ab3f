"""Inputs and outputs that several commands share."""
