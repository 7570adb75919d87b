"""Compressed exchange of gradients: masks, error feedback, frames, and a hook for anyone's DDP."""
