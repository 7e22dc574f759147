"""judgebatch.verdicts."""
