"""Interface of gateware and host, as data: needs neither PyTorch nor a compiler."""
