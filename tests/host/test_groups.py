"""Groups of regions that are summed together."""

import pytest
import torch

from adagrain.host.distributed import groups
from adagrain.host.distributed.exchange import Share
from adagrain.host.distributed.grouped_exchange import _alike
from adagrain.host.distributed.groups import Groups


def test_groups_do_not_depend_on_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_ELEMENTS", 10)
    known = Groups([9, 4, 6, 3, 20, 7])
    shares = [Share(n, torch.empty(s), torch.empty(s)) for n, s in enumerate((9, 4, 6, 3, 20, 7))]
    waiting = [shares[5]]
    assert known.take(waiting, everything=False) == [] and waiting == [shares[5]]
    waiting += [shares[1], shares[4], shares[3]]
    assert [[own.region for own in taken] for taken in known.take(waiting, everything=False)] == [
        [4, 5]
    ]
    assert [own.region for own in waiting] == [1, 3]
    assert [[own.region for own in taken] for taken in known.take(waiting, everything=True)] == [
        [1, 3]
    ]
    assert waiting == []


def test_a_group_has_all_slices_of_its_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_ELEMENTS", 2)
    known, x = Groups([3, 5]), torch.empty(3)
    waiting = [Share(1, x, x, 2)]
    assert known.take(waiting, everything=False) == []
    waiting.append(Share(1, x[:2], x[:2], 0))
    (taken,) = known.take(waiting, everything=False)
    assert [own.start for own in taken] == [0, 2]


def test_types_do_not_mix() -> None:
    """As in DDP's buckets: what is summed together would go in the larger one."""
    wide, narrow = torch.empty(3), torch.empty(3, dtype=torch.bfloat16)
    shares = [Share(n, x, x) for n, x in enumerate((wide, narrow, wide))]
    assert [[own.region for own in alike] for alike in _alike(shares)] == [[0, 2], [1]]
