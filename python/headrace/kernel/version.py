"""The version, which the compiled core carries."""

from headrace._native import __version__

__all__ = ["__version__"]
