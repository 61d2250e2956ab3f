"""How many examples a test makes up: few for `make test`, very many for `make sweep`."""

from hypothesis import settings

LEAST = 4


def often(factor):
    """Return the settings of a test that has so many times the usual number of examples."""
    return settings(
        max_examples=max(int(settings.default.max_examples * factor), LEAST)
    )
