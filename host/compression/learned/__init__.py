"""The mask that a small network learns beside the training: each worker its own."""
