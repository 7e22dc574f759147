"""judgebatch.imports."""
