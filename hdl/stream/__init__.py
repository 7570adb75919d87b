"""What streams are made of: queues, packets, width converters, and what waits together."""
