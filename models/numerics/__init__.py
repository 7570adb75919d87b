"""The same numbers for whole tensors, compiled: what training and golden paths compute with."""
