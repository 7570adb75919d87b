"""What a training tells of itself: typed events, and sinks that they go to."""
