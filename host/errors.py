"""Errors between the driver and a device."""

__all__ = [
    "ClosedError",
    "CommandError",
    "DeviceError",
    "DeviceTimeoutError",
    "ProtocolMismatchError",
    "UnitResetError",
]


class DeviceError(RuntimeError):
    """The device, or the way to it, failed; the arguments of the call were not at fault."""


class DeviceTimeoutError(DeviceError):
    """No answer came before the deadline, repeats included."""


class ProtocolMismatchError(DeviceError):
    """Raised if what answered is no coprocessor, or one of another version or device preset."""


class CommandError(DeviceError):
    """The device refused a command that the driver should not have sent."""


class UnitResetError(CommandError):
    """A unit of the device made no progress with a command, and was reset; it can go on."""


class ClosedError(ValueError):
    """The device was closed before the call, or opened by another process."""
