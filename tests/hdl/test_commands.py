# amaranth: UnusedElaboratable=no
"""What handlers of requests refuse to be built with; their behaviour is benched in sim."""

import pytest
from amaranth.hdl import Module, Signal

from adagrain.hdl.commands.call import HandlerSignature
from adagrain.hdl.commands.exchange import Exchange
from adagrain.hdl.commands.serial import Deserializer
from adagrain.hdl.commands.table import Table


def test_entries_that_no_shift_counts() -> None:
    m, octets = Module(), Deserializer(12)
    exchange = Exchange(m, HandlerSignature().create(), octets)
    table = Table(m, exchange, octets, entries=4, size=12, payload=256)
    with pytest.raises(ValueError, match="size must be a power of two, not 12"):
        table.count(Signal(16), 12)
