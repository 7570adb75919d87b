"""What gateware and host must agree on, as data: needs neither PyTorch nor a compiler."""
