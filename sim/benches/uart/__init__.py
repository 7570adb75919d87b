"""Variants of the serial line that its bench runs on."""

from .loopback import Loopback

VARIANTS = {
    "fast": lambda: Loopback(12e6, 3e6),
    "odd": lambda: Loopback(25e6, 3e6),
    "slow": lambda: Loopback(50e6, 1e6, skew=0.03),
    "late": lambda: Loopback(50e6, 1e6, skew=-0.03),
}
ICARUS_VARIANTS = ("odd",)
