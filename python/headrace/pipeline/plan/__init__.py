"""A pipeline before it runs: passes, and the engine steps of each stage."""
