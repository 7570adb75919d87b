"""Tensors that come by the data port and in requests, whole or in part, and their elements."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import torch

from adagrain.hdl.tensor_input import Beat
from adagrain.models.interface.formats import FORMATS, FormatCode
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.tensor_input import BEAT, TensorOpcode
from adagrain.models.statistics.reference import widened
from adagrain.sim.benches.statistics.traffic import random_pass
from adagrain.sim.simulators.payload import decode
from adagrain.sim.simulators.stimulus import Elements, Stimulus

from .users import TensorUsers

__all__ = ["Pass", "Traffic", "by_port", "port_beats", "request"]


@dataclass(frozen=True)
class Pass:
    """A tensor that is announced, and how much of it its unit takes.

    Parameters
    ----------
    user : int
        The unit.
    code : FormatCode
        Format.
    count : int
        Elements that are announced.
    memory : bytes
        Whole beats of memory: the tensor, or the first part of it.
    lanes : int
        Elements that the unit takes at once.
    """

    user: int
    code: FormatCode
    count: int
    memory: bytes
    lanes: int

    @property
    def whole(self) -> int:
        """Beats of elements."""
        return -(-self.count // self.lanes)

    def covered(self, size: int) -> int:
        """Beats of elements that lie in so many bytes of memory."""
        return min(self.whole, size * 8 // FORMATS[self.code].bits // self.lanes)

    def consumed(self, take: int) -> int:
        """Bytes that have left the port when so many beats of elements are taken."""
        if take == self.whole:
            return len(self.memory)
        return take * self.lanes * FORMATS[self.code].bits // (8 * BEAT) * BEAT

    def order(self, take: int, *, from_link: int) -> dict[str, Any]:
        """The count that the bench's units are told, so that so many beats are taken."""
        announced = {"count": self.count, "format": self.code, "from_link": from_link}
        return {"user": self.user, "begin": announced, "take": take}

    def beats(self, first: int, end: int) -> list[dict[str, Any]]:
        """Beats of elements, as the unit gets them."""
        fmt = FORMATS[self.code]
        tensor = torch.frombuffer(bytearray(self.memory), dtype=fmt.dtype)[: self.count]
        words = widened(tensor, fmt).tolist()
        return [
            self._beat(words[at * self.lanes :][: self.lanes], at == self.whole - 1)
            for at in range(first, end)
        ]

    def _beat(self, words: list[int], last: bool) -> dict[str, Any]:
        data = words + [0] * (self.lanes - len(words))
        return {"data": data, "keep": (1 << len(words)) - 1, "last": int(last)}


class Traffic:
    """Makes passes for a tensor input and its users.

    Parameters
    ----------
    unit : TensorUsers
        Which they are.
    generator : random.Random
        Source of all choices.
    longest : int
        Most elements of a tensor.
    """

    def __init__(self, unit: TensorUsers, generator: Random, longest: int = 100) -> None:
        self._unit, self._random, self._longest = unit, generator, longest

    def stimuli(self, count: int) -> Iterator[Stimulus]:
        """So many times passes of some kind, each of some stimuli."""
        for _ in range(count):
            yield from self._random.choice([self.by_port, self.by_link, self.refused])()

    def by_port(self) -> list[Stimulus]:
        """Tensors right behind each other, some of which are given up within.

        A beat that is still at the port when a pass is given up is the next tensor's first one.
        """
        orders, given, left = [], b"", b""
        outputs: dict[str, list[Any]] = {"o_end": []}
        for behind in reversed(range(self._random.randrange(1, 8))):
            one = self.tensor()
            one = replace(one, memory=left + one.memory[len(left) :])
            cut = behind and self._random.random() < 0.3
            take = self._random.randrange(one.whole) if cut else one.whole
            orders.append(one.order(take, from_link=0))
            outputs.setdefault(f"o_{one.user}", []).extend(one.beats(0, take))
            outputs["o_end"].append(one.user)
            gone = one.consumed(take)
            given += one.memory[:gone]
            left = one.memory[gone : gone + BEAT]
        return [Stimulus({"i_pass": orders, "i_data": port_beats(given)}, outputs)]

    def by_link(self) -> list[Stimulus]:
        """A tensor in requests, the last of which may be missing; some bring more than it has."""
        one = self.tensor()
        whole = len(one.memory)
        given = self._random.choice([whole, whole, self._random.randrange(BEAT, whole + 1, BEAT)])
        take = one.whole if given == whole else one.covered(given)
        made = [Stimulus({"i_pass": [one.order(take, from_link=1)]})]
        at = taken = 0
        while at < given:
            if self._random.random() < 0.1:
                made.append(request(bytes(whole - at + BEAT), Status.OVERFLOW))
            part = one.memory[at : min(given, at + self._random.randrange(1, 9) * BEAT)]
            at += len(part)
            covered = take if at == given else one.covered(at)
            brought: dict[str, Elements] = {f"o_{one.user}": one.beats(taken, covered)}
            brought |= {"o_end": [one.user]} if at == given else {}
            made.append(request(part, Status.OK, brought))
            taken = covered
        return made

    def refused(self) -> list[Stimulus]:
        """Requests without a pass, and in one whose tensor comes by the port."""
        data, whole = bytes(BEAT), by_port(self.tensor())
        return [
            request(data, Status.NOT_STARTED),
            Stimulus({"i_pass": whole.inputs["i_pass"]}),
            request(data, Status.OVERFLOW),
            Stimulus({"i_data": whole.inputs["i_data"]}, whole.outputs),
        ]

    def tensor(self) -> Pass:
        """A tensor for some unit; noise pads its last beat."""
        built = self._unit.configuration
        drawn = random_pass(self._random, built.formats, self._longest)
        raw = drawn.tensor.view(torch.uint8).numpy().tobytes()
        memory = raw + self._random.randbytes(-len(raw) % BEAT)
        user = self._random.randrange(self._unit.users)
        return Pass(user, drawn.code, drawn.tensor.numel(), memory, built.lanes)


def by_port(one: Pass) -> Stimulus:
    """A whole tensor from the data port."""
    order = one.order(one.whole, from_link=0)
    return Stimulus(
        {"i_pass": [order], "i_data": port_beats(one.memory)},
        {f"o_{one.user}": one.beats(0, one.whole), "o_end": [one.user]},
    )


def request(raw: bytes, status: Status, brought: Mapping[str, Elements] | None = None) -> Stimulus:
    """A request that brings data, its answer, and what else comes of it; none is taken else."""
    call = {"opcode": TensorOpcode.DATA, "length": len(raw)}
    taken = raw if status == Status.OK else b""
    answer = {"o": [{"data": status, "last": 1}]}
    return Stimulus({"i_call": [call], "i": taken}, {**answer, **(brought or {})})


def port_beats(raw: bytes) -> list[Any]:
    """Memory as the data port brings it."""
    starts = range(0, len(raw), BEAT)
    return [decode(Beat, int.from_bytes(raw[at : at + BEAT], "little")) for at in starts]
