"""Number of examples of property tests: few in `make test`, very many in `make sweep`."""

from hypothesis import settings

LEAST = 4


def often(factor):
    """Return the settings of a test with `factor` times the usual number of examples."""
    return settings(
        max_examples=max(int(settings.default.max_examples * factor), LEAST)
    )
