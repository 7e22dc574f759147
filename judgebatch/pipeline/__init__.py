"""judgebatch.pipeline."""
