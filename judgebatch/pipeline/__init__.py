"""The stages of a run, wired; in-process, or mapped by an executor handed in."""

from judgebatch.pipeline.report import RunReport
from judgebatch.pipeline.run import Progress, run

__all__ = ["Progress", "RunReport", "run"]
