"""What both ends of the channel to a worker share."""
