"""The name that was probably meant by one that there is not.

The one speller of functions, sources, fields, commands, options and their choices.
"""

from collections.abc import Iterable

_ALIKE = 0.76
"""How alike two names must be, from 0 to 1: `lead` is not `head`, `upper` is `uper`."""

_SHORTEST = 3
"""Letters of a name that may have two of them swapped."""


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like another one, whatever its case and hyphens.

    >>> nearest("startsWith", ["split", "starts_with"]), nearest("head", ["lead"])
    ('starts_with', None)
    >>> nearest("nmae", ["same", "name"]), nearest("ab", ["ba"])
    ('name', None)
    """
    from difflib import get_close_matches

    wanted = _plain(name)
    plain = {_plain(each): each for each in names}
    for each, meant in plain.items():
        if _are_swapped(wanted, each):
            return meant
    near = get_close_matches(wanted, plain, n=1, cutoff=_ALIKE)
    return plain[near[0]] if near else None


def did_you_mean(name: object, names: Iterable[object]) -> str:
    """Return a question for the end of an error message; empty if no name is near.

    >>> did_you_mean("lmit", ["limit", "nulls"]), did_you_mean("x", ["limit"])
    ("; did you mean 'limit'?", '')
    """
    if not isinstance(name, str):
        return ""
    near = nearest(name, (each for each in names if isinstance(each, str)))
    return "" if near is None else f"; did you mean {near!r}?"


def _are_swapped(name: str, other: str) -> bool:
    """Whether names of three or more letters differ by two neighbours that change places."""
    return (
        len(name) >= _SHORTEST
        and name != other
        and any(
            other == name[:at] + name[at + 1] + name[at] + name[at + 2 :]
            for at in range(len(name) - 1)
        )
    )


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
