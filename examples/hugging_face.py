"""Hugging Face: the Trainer of transformers, with a callback that registers the wrapped model.

Run it with: torchrun --nproc-per-node 2 examples/hugging_face.py
The lines marked "adagrain" are all that it takes; without them it is a plain Trainer script.
"""

import argparse
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

import adagrain  # adagrain


class Adagrain(TrainerCallback):  # adagrain
    def __init__(self, trainer: Trainer, **options: object) -> None:  # adagrain
        self.trainer, self.options = trainer, options  # adagrain

    def on_train_begin(self, *_: object, optimizer: object, **__: object) -> None:  # adagrain
        adagrain.register(self.trainer.model_wrapped, optimizer, **self.options)  # adagrain


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--cadence-max", type=int, default=4)
    parser.add_argument("--save")
    args = parser.parse_args()

    torch.manual_seed(0)
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2)
    )
    rows = torch.arange(512)[:, None] * 7 + torch.arange(16) ** 2  # something to learn
    dataset = [{"input_ids": row, "labels": row} for row in rows % 64]
    trainer = Trainer(
        model,
        TrainingArguments(
            tempfile.mkdtemp(),
            max_steps=args.steps,
            per_device_train_batch_size=8,
            gradient_accumulation_steps=2,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            use_cpu=True,
            ddp_backend="gloo",
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        ),
        train_dataset=dataset,
    )
    trainer.add_callback(Adagrain(trainer, cadence_max=args.cadence_max))  # adagrain
    trainer.train()
    if args.save:
        torch.save(model.state_dict(), f"{args.save}.{trainer.args.process_index}")


if __name__ == "__main__":
    main()
