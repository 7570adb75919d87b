"""Device presets, and what a configuration refuses."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.models.interface.configuration import PRESETS, configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.precision import INTEGERS, Precision
from adagrain.models.interface.units import UNITS, Payload

GRANULAR = {"units": ("statistics", "region_manager", "granularity_unit")}
_PRECISIONS = "precisions must be FP32, FP16, INT8, INT4, or INT8, INT4"


def test_build_ids_tell_configurations_apart() -> None:
    ids = {preset.build_id() for preset in PRESETS.values()}
    assert len(ids) == len(PRESETS)
    assert configuration("full").build_id() == PRESETS["full"].build_id()
    assert configuration("full", regions=16).build_id() not in ids
    assert configuration("granular", precisions=INTEGERS).build_id() not in ids


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lanes": 3}, "lanes must be 1, 2 or 4, not 3"),
        ({"powers": 5}, "powers must be 2 or 4, not 5"),
        ({"lanes": 2.0}, r"lanes must be 1, 2 or 4, not 2\.0"),
        ({"regions": 12}, "regions must be a power of two from 1 to 8192, not 12"),
        ({"regions": 16384}, "regions must be a power of two from 1 to 8192, not 16384"),
        ({"regions": np.int64(64)}, r"regions must be a power of two .*, not np.int64\(64\)"),
        ({"regions": True}, "regions must be a power of two from 1 to 8192, not True"),
        ({"payload": 128}, "payload must be a power of two from 256 to 4096, not 128"),
        ({"window": 0}, "window must be a power of two from 1 to 16, not 0"),
        ({"formats": (FormatCode.FP16,)}, "formats must be distinct and contain FP32"),
        ({"formats": [FormatCode.FP32]}, r"formats must be a tuple of FormatCode, not \[<Form"),
        ({"formats": (0, 1)}, r"formats must be a tuple of FormatCode, not \(0, 1\)"),
        ({"units": (0,)}, r"unit must be one of statistics, region_manager, .*, not 0"),
        ({"units": ["statistics"]}, r"units must be a tuple of names, not \['statistics'\]"),
        ({"units": ("statistics", "codec")}, "unit must be one of statistics, .*, not 'codec'"),
        ({"units": ("region_manager",)}, "units must be distinct and contain 'statistics'"),
        ({"units": ("statistics",) * 2}, "units must be distinct and contain 'statistics'"),
        (
            {"units": ("statistics", "granularity_unit"), "slices": 1},
            "units must contain 'region_manager', which 'granularity_unit' needs",
        ),
        (
            {
                "units": ("statistics", "encoder"),
                "formats": (FormatCode.FP32, FormatCode.FP16),
            },
            "formats must contain BF16, which 'encoder' needs",
        ),
        ({"histogram": 1}, "histogram must be True or False, not 1"),
        ({"precisions": (0, 1, 2, 3)}, r"precisions must be a tuple of Precision, not \(0, 1, 2"),
        ({"preset": "far too long"}, "device preset must be 1 to 8 ASCII characters"),
        ({"preset": 7}, "device preset must be 1 to 8 ASCII characters, not 7"),
        ({"decision_cycles": 63}, "decision_cycles must be from 64 to 65536, not 63"),
        ({"decision_cycles": 64.5}, r"decision_cycles must be from 64 to 65536, not 64\.5"),
        ({"watchdog": 4095}, "watchdog must be from 6144 to 16777216 with these units, not 4095"),
        ({"watchdog": (1 << 24) + 1}, "watchdog must be from 6144 .*, not 16777217"),
        (
            {"units": ("statistics", "decoder"), "lanes": 1, "watchdog": 12287},
            "watchdog must be from 12288 to 16777216 with these units, not 12287",
        ),
        (
            GRANULAR
            | {"units": (*GRANULAR["units"], "encoder"), "slices": 1, "operands": 4096}
            | {"watchdog": 4096},
            "watchdog must be from 69632 to 16777216 with these units, not 4096",
        ),
        (
            GRANULAR | {"slices": 1, "operands": 4096, "watchdog": 69631},
            "watchdog must be from 69632 to 16777216 with these units, not 69631",
        ),
        (GRANULAR | {"slices": 1.0}, r"slices must be from 1 to 16 .*, not 1\.0"),
        ({"operands": 100}, "operands must be a power of two from 64 to 4096, not 100"),
        (GRANULAR | {"slices": 17}, "slices must be from 1 to 16 with this payload, not 17"),
        (GRANULAR, "slices must be from 1 to 16 with this payload, not 0"),
        ({"slices": 1}, "slices must be 0 without the granularity unit, not 1"),
        (GRANULAR | {"slices": 7, "payload": 256}, "slices must be from 1 to 6 .*, not 7"),
        ({"precisions": ()}, f"{_PRECISIONS}, not none"),
        ({"precisions": (Precision.INT4, Precision.INT8)}, f"{_PRECISIONS}, not INT4, INT8"),
        ({"precisions": (Precision.INT8,) * 2}, f"{_PRECISIONS}, not INT8, INT8"),
        ({"precisions": (Precision.FP16,)}, f"{_PRECISIONS}, not FP16"),
    ],
)
def test_refusals(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(PRESETS["full"], **changes)


_LONG = data.StructLayout({"long": unsigned(8 * 300)})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            lambda step, _: {"operations": (replace(step, reply=Payload(_LONG)),)},
            "payload must be at least 300 for the reply STEP of region_manager, not 256",
        ),
        (
            lambda step, _: {"operations": (replace(step, request=Payload(_LONG, _LONG)),)},
            "payload must be at least 600 for the request STEP of region_manager, not 256",
        ),
        (
            lambda _, table: {"table": replace(table, record=_LONG)},
            "payload must be at least 300 for the table's record of region_manager, not 256",
        ),
    ],
)
def test_records_that_no_payload_holds(
    monkeypatch: pytest.MonkeyPatch, changed: Callable[..., dict], message: str
) -> None:
    """They would be waited for until the device is given up."""
    unit = copy(UNITS["region_manager"])
    vars(unit).update(changed(unit.step, unit.table))
    monkeypatch.setitem(UNITS, unit.name, unit)
    assert configuration("small").payload == 1024
    with pytest.raises(ValueError, match=message):
        configuration("small", payload=256)


def test_unknown_preset() -> None:
    with pytest.raises(
        ValueError,
        match="device preset must be one of tiny, small, full, granular, wide, whole, not 'huge'",
    ):
        configuration("huge")
