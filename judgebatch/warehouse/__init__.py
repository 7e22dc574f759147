"""judgebatch.warehouse."""
