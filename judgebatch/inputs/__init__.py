"""judgebatch.inputs."""
