"""The main job: a distributed training run that is steered by the coprocessors."""
