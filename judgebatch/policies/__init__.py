"""judgebatch.policies."""
