"""The samples that each worker trains on."""

import pytest
import torch

from adagrain.host.train.shards import Shards


def shards(rank: int, *, samples: int = 50, batch: int = 4, workers: int = 3) -> Shards:
    return Shards(samples, batch=batch, workers=workers, rank=rank, seed=7)


def test_shards_of_an_epoch_are_disjoint_and_drawn_anew() -> None:
    workers = [shards(rank) for rank in range(3)]
    assert workers[0].steps_per_epoch == 4
    epochs = []
    for _ in range(3):
        taken = torch.cat([w.next() for _ in range(4) for w in workers])
        assert len(set(taken.tolist())) == 48
        assert int(taken.min()) >= 0 and int(taken.max()) < 50
        epochs.append(taken)
    assert not torch.equal(epochs[0], epochs[1])
    assert not torch.equal(epochs[1], epochs[2])
    assert [w.epoch for w in workers] == [2, 2, 2]


def test_the_global_batch_does_not_depend_on_the_number_of_workers() -> None:
    one = shards(0, batch=12, workers=1)
    many = [shards(rank) for rank in range(3)]
    for _ in range(9):
        assert torch.equal(one.next(), torch.cat([w.next() for w in many]))


@pytest.mark.parametrize("steps", [0, 1, 4, 5, 11])
def test_cursor_goes_on_where_it_was(steps: int) -> None:
    reference = shards(1)
    for _ in range(steps):
        reference.next()
    resumed = shards(1)
    resumed.load_state_dict(reference.state_dict())
    for _ in range(10):
        assert torch.equal(resumed.next(), reference.next())


def test_seed_decides() -> None:
    first, second = (Shards(50, batch=4, workers=1, rank=0, seed=s) for s in (1, 2))
    assert not torch.equal(first.next(), second.next())


def test_too_few_samples() -> None:
    with pytest.raises(ValueError, match="at most 16 for 3 workers and 50 samples, not 17"):
        shards(0, batch=17)


def test_each_epoch_of_each_seed_has_a_permutation_of_its_own() -> None:
    drawn = set[tuple[int, ...]]()
    for seed in range(3):
        shards = Shards(40, batch=40, workers=1, rank=0, seed=seed)
        drawn |= {tuple(shards.next().tolist()) for _ in range(3)}
    assert len(drawn) == 9
