"""judgebatch.contracts."""
