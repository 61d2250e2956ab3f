"""Files and objects: sources, atomic writes, locks, sidecars."""
