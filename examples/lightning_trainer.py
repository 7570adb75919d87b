"""PyTorch Lightning: its Trainer, with a callback that registers the wrapped model.

Run it with: torchrun --nproc-per-node 2 examples/lightning_trainer.py
The lines marked "adagrain" are all that it takes; without them it is a plain Lightning script.
"""

import argparse
import os

import lightning
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import adagrain  # adagrain


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))

    def training_step(self, batch: list[torch.Tensor], number: int) -> torch.Tensor:
        inputs, labels = batch
        return nn.functional.cross_entropy(self.layers(inputs), labels)

    def configure_optimizers(self) -> dict:
        optimizer = torch.optim.AdamW(self.parameters(), lr=3e-3)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }


class Adagrain(lightning.Callback):  # adagrain
    def __init__(self, **options: object) -> None:  # adagrain
        self.options = options  # adagrain

    def on_train_start(self, trainer: lightning.Trainer, _: object) -> None:  # adagrain
        adagrain.register(trainer.strategy.model, trainer.optimizers, **self.options)  # adagrain


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--cadence-max", type=int, default=4)
    parser.add_argument("--save")
    args = parser.parse_args()

    lightning.seed_everything(0)
    images, labels = load_digits(return_X_y=True)
    dataset = TensorDataset(torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels))
    module = Classifier()
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        strategy="ddp",
        max_steps=args.steps,
        gradient_clip_val=0.5,
        accumulate_grad_batches=2,
        callbacks=[
            Adagrain(cadence_max=args.cadence_max),  # adagrain
        ],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, DataLoader(dataset, batch_size=16, shuffle=True))
    if args.save:
        torch.save(module.state_dict(), f"{args.save}.{trainer.global_rank}")


if __name__ == "__main__":
    main()
