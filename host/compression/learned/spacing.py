"""Spacing of what is done in some passes only: it gets rarer."""

__all__ = ["is_due"]


def is_due(number: int, every: int, soon: int, doublings: int) -> bool:
    """True in each so many-th pass at first; then half as often, half as often again, and so on.

    Parameters
    ----------
    number : int
        Of the pass.
    every : int
        Passes from one to the next at first.
    soon : int
        So many times after which they are twice as far apart; from there on the distance doubles
        where the number of passes does.
    doublings : int
        How often it does.
    """
    doubled = min((number // (soon * every)).bit_length(), doublings)
    return number % (every << doubled) == 0
