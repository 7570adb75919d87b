"""Ways to reach a device: each moves frames, and tensors where it has a data port."""
