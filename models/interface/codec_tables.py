"""Code lengths of the codec's default tables."""

from .codec import LONGEST_CODE, TableNumber

__all__ = ["DEFAULT_LENGTHS"]


def _lengths(rows: str) -> bytes:
    """A row for each gap class, a hexadecimal digit for each bin; the escape's is 12."""
    return bytes([*(int(digit, 16) for digit in "".join(rows.split())), LONGEST_CODE])


#: By number; all symbols of bins 0 to 23 have codes, no others.
DEFAULT_LENGTHS: dict[TableNumber, bytes] = {
    TableNumber.WIDE: _lengths(
        """
        c86553444456778acccccccc00000000
        caa87665667899abcccccccc00000000
        cca87655767899abcccccccc00000000
        ccb99777778ababccccccccc00000000
        ccccb987989ababccccccccc00000000
        cccac98899abbaaccccccccc00000000
        ccccba88999bbaaccccccccc00000000
        cccba888899bbbbccccccccc00000000
        cccca8788aaccccccccccccc00000000
        ccccc99aaccccccccccccccc00000000
        ccccc99bbccccccccccccccc00000000
        cccccb9bcccccccccccccccc00000000
        ccccbaaccccccccccccccccc00000000
        """
    ),
    TableNumber.NARROW: _lengths(
        """
        965445accccccccccccccccc00000000
        a765569ccccccccccccccccc00000000
        9654559ccccccccccccccccc00000000
        a65455accccccccccccccccc00000000
        a665569ccccccccccccccccc00000000
        c76567cccccccccccccccccc00000000
        c87778cccccccccccccccccc00000000
        c88789cccccccccccccccccc00000000
        c99899cccccccccccccccccc00000000
        c999aacccccccccccccccccc00000000
        c989abcccccccccccccccccc00000000
        c9a9cccccccccccccccccccc00000000
        a9accccccccccccccccccccc00000000
        """
    ),
}
