"""A worker that compares all-reduces of ours with those of torch."""

import torch
import torch.distributed as dist

from adagrain.host.distributed.all_reduce import AllReduce
from adagrain.host.distributed.process_group import leave_group

_SHAPES = ((1,), (3, 5), (4000,))
_TYPES = (torch.float32, torch.float64, torch.int64)


def main() -> None:
    dist.init_process_group("gloo")
    generator = torch.Generator().manual_seed(dist.get_rank())
    for shape in _SHAPES:
        for dtype in _TYPES:
            for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX):
                own = (100 * torch.randn(shape, generator=generator)).to(dtype)
                wanted = own.clone()
                under_way = AllReduce(own, None, op, short=8000)
                under_way.wait()
                under_way.wait()
                dist.all_reduce(wanted, op)
                assert under_way.arrived() and torch.equal(own, wanted), (shape, dtype, op)
    print("equal")
    leave_group()


if __name__ == "__main__":
    main()
