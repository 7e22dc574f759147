"""judgebatch.grading."""
