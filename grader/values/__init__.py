"""Values that are compared and shown: arrays, numbers, containers."""
