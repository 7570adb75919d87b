"""Options of the compressed exchange."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from math import inf
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

from adagrain.host.distributed.option_names import check_names, check_number
from adagrain.models.interface.formats import FORMATS, FormatCode

from .learned.options import LearnedOptions

if TYPE_CHECKING:
    from .coder import Coder
    from .mask import Mask

__all__ = ["BYPASSES", "CODERS", "MANTISSA_BITS", "MASKS", "CompressionOptions"]

#: Mantissa bits that an element has at most, as it is sent.
MANTISSA_BITS = FORMATS[FormatCode.BF16].mantissa_bits

#: Masks that have a name.
MASKS = ("threshold", "threshold_before", "top_by_share", "top", "random", "learned")

#: What may decide on the bypass.
BYPASSES = ("auto", "never", "always")

#: Coders that have a name: the golden codec, and the device that is registered.
CODERS = ("golden", "device")


@dataclass(frozen=True)
class CompressionOptions:
    """Options of :class:`~.exchange.CompressedExchange` and of :class:`~.hook.CompressionState`.

    Parameters
    ----------
    density : float
        Part of the elements that is sent in each pass, above 0 and at most 1.
    budget : int or None
        Bytes that a worker may put into a slot in each pass, at most; decides in place of the
        density.
    mask : str or Mask
        ``"threshold"``, ``"threshold_before"`` (that of the pass before), ``"top_by_share"``,
        ``"top"`` (of each exchange), ``"random"``, ``"learned"``, or a mask of one's own.
    learned : mapping
        Options of the learned mask: those of :class:`~.learned.options.LearnedOptions`.
    mantissa_bits : int
        Of each element that is sent, from 0 to 7.
    error_feedback : bool
        Whether what is not sent is added to the next gradient.
    momentum : float
        Momentum correction: the optimizer's momentum, which must be 0 there then. From 0 to below
        1; 0 does not correct.
    nesterov : bool
        Momentum correction is Nesterov's.
    momentum_masking : bool or None
        Momentum of what is sent begins anew. ``None``: yes, but with Nesterov's no, since a network
        learns more then.
    warmup_passes : int
        Passes in which the density falls to what it is to be, by one factor each.
    warmup_density : float
        Where it begins; above the density.
    plan_passes : int
        Passes after which the sizes of slots are renewed.
    bypass : str or mapping
        Whether gradients go as BF16 uncompressed: ``"auto"``, where compression gains less than
        ``worth``; ``"never"``; ``"always"``; or decisions as they were recorded, number of the pass
        to bool.
    worth : float
        How many times as fast a step must be with compression, for it is not learned as much in it:
        what is not sent is late. Above 0, and finite; not given unless ``bypass`` is ``"auto"``.
    coder : str or Coder
        What makes frames, and takes them apart: ``"golden"``, the golden codec; ``"device"``, the
        registered device; or an opened one. Frames are the same. A device also masks by the
        learned mask's tables.
    network : str
        What decides on the learned mask's tables: ``"golden"``, the golden network; ``"device"``,
        the device that is the coder. Tables are the same.
    seed : int
        Of the random mask, and of the learned one's first weights.

    Raises
    ------
    TypeError, ValueError
        If an option is of a wrong kind, or out of its range.
    """

    density: float = 0.01
    budget: int | None = None
    mask: "str | Mask" = "threshold"
    learned: Mapping[str, Any] = field(default_factory=dict)
    mantissa_bits: int = MANTISSA_BITS
    error_feedback: bool = True
    momentum: float = 0.0
    nesterov: bool = False
    momentum_masking: bool | None = None
    warmup_passes: int = 0
    warmup_density: float = 0.25
    plan_passes: int = 32
    bypass: str | Mapping[int, bool] = "auto"
    worth: float = 1.5
    coder: "str | Coder" = "golden"
    network: str = "golden"
    seed: int = 0

    def __post_init__(self) -> None:
        self._check_numbers()
        self._check_density()
        self._check_momentum()
        self._check_mask()
        self._check_bypass()
        self._check_coder()

    def _check_numbers(self) -> None:
        for name in ("density", "warmup_density"):
            check_number(self, name, Real, "a number above 0 and at most 1", lambda x: 0 < x <= 1)
        check_number(self, "momentum", Real, "a number from 0 to below 1", lambda x: 0 <= x < 1)
        check_number(self, "worth", Real, "a positive, finite number", lambda x: 0 < x < inf)
        bits = f"a whole number from 0 to {MANTISSA_BITS}"
        check_number(self, "mantissa_bits", Integral, bits, lambda x: 0 <= x <= MANTISSA_BITS)
        for name, least in (("warmup_passes", 0), ("plan_passes", 1)):
            kind = f"a whole number, at least {least}"
            check_number(self, name, Integral, kind, lambda x, least=least: x >= least)
        seeds = "a whole number from 0 to below 2**63"
        check_number(self, "seed", Integral, seeds, lambda x: 0 <= x < 1 << 63)

    def _check_density(self) -> None:
        """See to it that budget, density and warm-up go together."""
        if self.budget is not None:
            check_number(self, "budget", Integral, "a positive number of bytes", lambda x: x > 0)
            if self.warmup_passes:
                raise ValueError(
                    f"warmup_passes must be 0 where there is a budget, not {self.warmup_passes}"
                )
        if self.warmup_passes and self.warmup_density <= self.density:
            raise ValueError(
                f"warmup_density must be above density, {self.density}, where there are "
                f"warmup_passes, not {self.warmup_density}"
            )

    def _check_momentum(self) -> None:
        """See to it that what is kept from pass to pass is said, and goes together."""
        for name in ("error_feedback", "nesterov"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, not {getattr(self, name)!r}")
        if not isinstance(self.momentum_masking, bool | None):
            raise TypeError(
                f"momentum_masking must be None, True or False, not {self.momentum_masking!r}"
            )
        if self.nesterov and not self.momentum:
            raise ValueError("nesterov must be False without momentum correction, not True")
        if self.momentum_masking is not None and not self.momentum:
            raise ValueError(
                "momentum_masking must be None without momentum correction, not "
                f"{self.momentum_masking}"
            )

    def _check_mask(self) -> None:
        """See to it that there is such a mask, and what it has options for."""
        if not _is_mask(self.mask):
            raise ValueError(
                f"mask must be one of {', '.join(MASKS)}, or a Mask, not {self.mask!r}"
            )
        if not isinstance(self.learned, Mapping):
            raise TypeError(f"learned must be a mapping of options, not {self.learned!r}")
        if self.learned and self.mask != "learned":
            raise ValueError(
                f"learned must be empty unless mask is 'learned', not {dict(self.learned)}"
            )
        LearnedOptions.of(self.learned)

    def _check_bypass(self) -> None:
        """See to it that something decides on the bypass."""
        if isinstance(self.bypass, Mapping):
            _check_record(self.bypass)
        elif not _is_of(self.bypass, BYPASSES):
            raise ValueError(
                f"bypass must be one of {', '.join(BYPASSES)}, or a mapping from passes to bools, "
                f"not {self.bypass!r}"
            )
        if self.worth != CompressionOptions.worth and self.bypass != "auto":
            raise ValueError(
                f"worth must be {CompressionOptions.worth} unless bypass is 'auto', not "
                f"{self.worth}"
            )

    def _check_coder(self) -> None:
        """See to it that there is such a coder, and that it has the network."""
        if not _is_of(self.coder, CODERS) and not hasattr(self.coder, "decode"):
            raise ValueError(
                f"coder must be one of {', '.join(CODERS)}, or an opened device, not {self.coder!r}"
            )
        if not _is_of(self.network, CODERS):
            raise ValueError(f"network must be one of {', '.join(CODERS)}, not {self.network!r}")
        if self.network == "device" and (self.mask != "learned" or self.coder == "golden"):
            raise ValueError(
                "network must be 'golden' unless mask is 'learned' and coder a device, not "
                f"'device' with mask {self.mask!r} and coder {self.coder!r}"
            )

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Those that are named.

        Raises
        ------
        TypeError
            If there is none of a name; what it may be instead is said.
        ValueError
            If one has no effect beside the others.
        """
        check_names("compression", options, [option.name for option in fields(cls)])
        if options.get("budget") is not None and "density" in options:
            raise ValueError(
                "density must not be given beside a budget, which decides in its place, but is "
                f"{options['density']!r}"
            )
        if "warmup_density" in options and not options.get("warmup_passes"):
            raise ValueError(
                "warmup_density must not be given without warmup_passes, but is "
                f"{options['warmup_density']!r}"
            )
        return cls(**options)

    @property
    def masks_momentum(self) -> bool:
        """True if the velocity of what is sent begins anew."""
        return not self.nesterov if self.momentum_masking is None else self.momentum_masking

    @property
    def leaves(self) -> bool:
        """True if something of a pass may stay behind for later ones."""
        return self.error_feedback or self.momentum > 0

    @property
    def once(self) -> str:
        """The reason that a step may have one exchange only; empty where it may have several."""
        if self.error_feedback and not self.momentum:
            return ""
        why = "momentum is corrected" if self.momentum else "there is no error feedback"
        return (
            "backward passes of a step but the last must be inside model.no_sync() where "
            f"{why}: what an exchange has brought back would be taken for a new gradient. If there "
            "was only one: gradients must be cleared in each step, by zero_grad(), and the "
            "optimizer must have all parameters"
        )

    def saved(self) -> dict[str, Any]:
        """Those that a state is of, by what they are called where another one is refused."""
        return {
            "mask": self.common()["mask"],
            "error_feedback": self.error_feedback,
            "momentum correction": self.momentum > 0,
            "hidden of the learned mask": LearnedOptions.of(self.learned).hidden,
        }

    def common(self) -> dict[str, Any]:
        """Those that all workers must have in common; by what each codes is its affair."""
        own = ("coder", "network")
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in own}
        mask = self.mask if isinstance(self.mask, str) else type(self.mask).__name__
        bypass = sorted(self.bypass.items()) if isinstance(self.bypass, Mapping) else self.bypass
        learned = asdict(LearnedOptions.of(self.learned))
        return {**found, "mask": mask, "bypass": bypass, "learned": learned}


def _is_mask(given: object) -> bool:
    """True for a name of one, or an object that has all calls of one."""
    if isinstance(given, str | type):
        return _is_of(given, MASKS)
    from .mask import Mask  # and PyTorch, which takes long: names do without

    return isinstance(given, Mask)


def _is_of(given: object, names: Sequence[str]) -> bool:
    """True for one of these names; an array would compare itself with each."""
    return isinstance(given, str) and given in names


def _check_record(record: Mapping[Any, Any]) -> None:
    """See to it that decisions on the bypass are what they must be."""
    for number, bypass in record.items():
        if isinstance(number, bool) or not isinstance(number, Integral):
            raise TypeError(f"a pass of bypass must be a whole number, at least 0, not {number!r}")
        if number < 0:
            raise ValueError(f"a pass of bypass must be a whole number, at least 0, not {number}")
        if not isinstance(bypass, bool):
            raise TypeError(f"bypass of pass {number} must be True or False, not {bypass!r}")
