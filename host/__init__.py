"""Driver, PyTorch integration, the distributed training runtime and the command line."""
