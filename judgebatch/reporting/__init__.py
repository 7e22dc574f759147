"""judgebatch.reporting."""
