"""What can go wrong between the driver and a device."""

__all__ = ["CommandError", "DeviceError", "DeviceTimeoutError", "ProtocolMismatchError"]


class DeviceError(RuntimeError):
    """The device, or the way to it, failed; the arguments of the call were not at fault."""


class DeviceTimeoutError(DeviceError):
    """No answer came before the deadline, repeats included."""


class ProtocolMismatchError(DeviceError):
    """What answered is no coprocessor, or one of another version or preset."""


class CommandError(DeviceError):
    """The device refused a command that the driver should not have sent."""
