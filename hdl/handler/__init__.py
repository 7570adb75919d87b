"""What handlers of requests are made of."""
