"""judgebatch.juries."""
