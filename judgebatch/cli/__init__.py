"""judgebatch.cli."""
