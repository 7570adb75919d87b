"""Building blocks of streams: queues, packets, width converters, elastic pipelines."""
