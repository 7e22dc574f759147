"""judgebatch.strengths."""
