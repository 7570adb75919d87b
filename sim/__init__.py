"""Compiled RTL in process, and the cocotb benches."""
