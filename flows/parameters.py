"""The parameters of the flows: validated before a run starts, and described in the Prefect UI."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from judgebatch.pipeline.grading_stage import SLICE_ROWS

_DURATION = r"^[1-9][0-9]{0,5}(s|m|h|d|w)$"


class Runner(StrEnum):
    """What does a flow's tasks."""

    THREADS = "threads"
    IN_PROCESS = "in-process"
    DASK = "dask"


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"{name!r} is not a zone of the IANA database") from error
    return name


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    settings: Path = Field(
        default=Path("judgebatch.toml"),
        title="Settings file",
        description="The judgebatch.toml of the warehouse; a relative path counts from the "
        "folder in which the deployment was made.",
    )


class _Mapped(_Parameters):
    runner: Runner = Field(
        default=Runner.THREADS,
        title="Task runner",
        description="What does the tasks, one for each input file and each shard: threads of the "
        "flow's process, that process alone, or the processes of a Dask cluster (needs the extra "
        "`dask`). The published bytes are the same.",
    )
    workers: int = Field(
        default=2,
        ge=1,
        le=256,
        title="Workers",
        description="Threads, or processes of a Dask cluster that is started for this run.",
    )
    scheduler: str | None = Field(
        default=None,
        title="Dask scheduler",
        description="Address of a running Dask scheduler, such as tcp://10.0.0.5:8786, to be used "
        "instead of a cluster for this run. Its workers must see the same files.",
    )


class Night(_Mapped):
    """One night."""

    as_of: AwareDatetime | None = Field(
        default=None,
        title="As of",
        description="The logical time of the night, with zone. Leave it empty: the scheduled "
        "start of the flow run is taken, so a run that starts late, or is retried, stands for the "
        "same night. Name it to do a certain night again by hand.",
    )
    strict: bool = Field(
        default=False,
        title="Strict",
        description="Fail, with nothing published, if a row of the night's input files would be "
        "set aside in the quarantine.",
    )
    slice_rows: int = Field(
        default=SLICE_ROWS,
        ge=1,
        title="Rows of a slice",
        description="About how many rows of a shard a worker grades at once, cut by tenant and "
        "task: fewer take less memory, and share a large tenant among more workers.",
    )


class Reading(_Mapped):
    """Reading all stored verdicts again."""

    as_of: AwareDatetime | None = Field(
        default=None,
        title="As of",
        description="The logical time of the reading, with zone; the scheduled start of the flow "
        "run if empty. The same time again does nothing.",
    )


class Nights(_Parameters):
    """Many nights in a row."""

    first: AwareDatetime = Field(
        title="First night", description="As-of of the first night, with zone."
    )
    last: AwareDatetime = Field(
        title="Last night",
        description="As-of of the last night, or a time after it; later rows stay for later runs.",
    )
    every: Annotated[str, Field(pattern=_DURATION)] = Field(
        default="1d",
        title="Time between two nights",
        description="A whole number and a unit: s, m, h, d or w.",
    )
    timezone: Annotated[str, AfterValidator(_zone)] = Field(
        default="UTC",
        title="Time zone",
        description="Whose days are counted: three o'clock stays three o'clock when the clocks "
        "change. Name the zone of the nightly schedule.",
    )
    processes: int = Field(
        default=1,
        ge=1,
        le=256,
        title="Processes",
        description="Local processes that share the work of a night; the bytes are the same.",
    )
    dry_run: bool = Field(
        default=False,
        title="Dry run",
        description="Only say what would be read and written.",
    )

    @model_validator(mode="after")
    def _in_order(self) -> "Nights":
        if self.last < self.first:
            raise ValueError("the last night lies before the first")
        return self


class Rescoring(BaseModel):
    """Scoring stored judgments again under a jury."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    inputs: list[Path] = Field(
        min_length=1,
        title="Inputs",
        description="Parquet files of judgments or verdicts, or folders of them.",
    )
    jury: Path = Field(title="Jury", description="The jury's definition, TOML or JSON.")
    out: Path = Field(title="Output folder", description="A folder that does not exist yet.")
    columns: dict[str, str] = Field(
        default_factory=dict,
        title="Columns",
        description="What the inputs call their columns, by the names that the tables have.",
    )
