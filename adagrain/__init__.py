"""Adaptive-granularity neural-network training, decided and done beside every worker.

The names below are the public face of the library; each lives in one of the four layers
``adagrain.models`` ← ``adagrain.hdl`` ← ``adagrain.sim`` ← ``adagrain.host`` and is imported
on first use, so that ``import adagrain`` costs nothing.
"""

import time
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

#: When this process began to import the project: what it runs is no source file of later.
_IMPORTED = time.time()

_HOMES = {
    "open_device": "adagrain.host.device.open_device",
    "Coprocessor": "adagrain.host.device.coprocessor",
    "Configuration": "adagrain.models.interface.configuration",
    "regions": "adagrain.host.regions.regions",
    "RegionReducer": "adagrain.host.distributed.reducer",
    "AdagrainState": "adagrain.host.distributed.adagrain_state",
    "adagrain_hook": "adagrain.host.distributed.ddp",
    "register": "adagrain.host.distributed.ddp",
    "Checkpoints": "adagrain.host.distributed.checkpoints",
    "Speculation": "adagrain.host.speculation.speculate",
    "speculate": "adagrain.host.speculation.speculate",
    "CompressionState": "adagrain.host.compression.hook",
    "compress_hook": "adagrain.host.compression.hook",
}

__all__ = [
    "AdagrainState",
    "Checkpoints",
    "CompressionState",
    "Configuration",
    "Coprocessor",
    "RegionReducer",
    "Speculation",
    "__version__",
    "adagrain_hook",
    "compress_hook",
    "granular",
    "open_device",
    "regions",
    "register",
    "speculate",
]


def __getattr__(name: str) -> Any:
    if name == "granular":
        return import_module("adagrain.granular")
    if name not in _HOMES:
        raise AttributeError(f"module 'adagrain' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
