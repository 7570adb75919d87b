"""A small GPT on Python's help texts: AdamW, warm-up and cosine schedule, gradient clipping.

Run it with: torchrun --nproc-per-node 2 examples/gpt.py
The lines marked "adagrain" are all that it takes; without them it is a plain DDP script.
"""

import argparse
import math
import pydoc_data.topics

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import adagrain  # adagrain

CONTEXT, WIDTH, HEADS, LAYERS = 32, 32, 2, 2


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.Linear(WIDTH, 3 * WIDTH)
        self.projection = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = (
            part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in self.attention(self.norm1(x)).split(WIDTH, dim=2)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)
        self.head.weight = self.tokens.weight  # tied

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        logits = self.head(self.norm(self.blocks(x)))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--cadence-max", type=int, default=4)
    parser.add_argument("--save")
    args = parser.parse_args()
    if args.steps < 1:
        parser.error(f"--steps must be at least 1, not {args.steps}")

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    text = "".join(pydoc_data.topics.topics.values())[:200_000]
    letters = sorted(set(text))
    data = torch.tensor([letters.index(letter) for letter in text])

    model = DistributedDataParallel(GPT(len(letters)))
    decay = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=3e-3,
        betas=(0.9, 0.95),
    )
    warmup = max(1, args.steps // 10)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1, (step + 1) / warmup) * (1 + math.cos(math.pi * step / args.steps)) / 2,
    )
    state = adagrain.register(model, optimizer, cadence_max=args.cadence_max)  # adagrain

    generator = torch.Generator().manual_seed(rank)
    for step in range(args.steps):
        starts = torch.randint(len(data) - CONTEXT - 1, (8, 1), generator=generator)
        windows = data[starts + torch.arange(CONTEXT + 1)]
        loss = model(windows[:, :-1], windows[:, 1:])
        optimizer.zero_grad()
        state.loss(loss)  # adagrain
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if rank == 0 and step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}")

    if args.save:
        torch.save(model.module.state_dict(), f"{args.save}.{rank}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
