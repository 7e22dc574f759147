"""judgebatch.judging."""
