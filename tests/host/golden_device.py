"""A driver over the golden models, and calls of it."""

from typing import Any

from matrices import GRANULAR

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.records import size, unpack
from adagrain.models.interface.units.precision_controller import PrecisionRecord
from adagrain.models.interface.units.region_manager import RegionRecord
from adagrain.models.precision_controller import precision_record

__all__ = ["RECORD", "UPDATE", "agree", "opened"]

RECORD = precision_record((0.1, 0.2, 0.3), hysteresis=0.02, dwell=1)
UPDATE = {"exponent": 130, "usable": 1, "decide": 1, "a": 1 << 30, "n": 1 << 28}


def agree(device: Coprocessor) -> None:
    """Demand that the device's tables are the driver's copies."""
    state = device.state_dict()
    assert device.read_table(0, len(state["table"]) // size(RegionRecord)) == state["table"]
    wanted = [unpack(PrecisionRecord, record) for record in state["precisions"]]
    assert device.precisions.read(0, len(wanted)) == wanted


def opened(
    transport: GoldenTransport, built: Configuration = GRANULAR, **options: Any
) -> Coprocessor:
    limits = {"timeout": 0.01, "retries": 1} | options
    return Coprocessor(transport, built, url="test:", **limits)
