"""judgebatch: nightly batch grading of agent episodes over Parquet."""

__version__ = "0.1.0"
