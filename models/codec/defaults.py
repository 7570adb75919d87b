"""The tables that every decoder knows."""

from adagrain.models.interface.codec import TableNumber
from adagrain.models.interface.codec_tables import DEFAULT_LENGTHS

from .table import CodeTable

__all__ = ["DEFAULT_TABLES"]

#: By number.
DEFAULT_TABLES: dict[TableNumber, CodeTable] = {
    number: CodeTable(lengths, number) for number, lengths in DEFAULT_LENGTHS.items()
}
