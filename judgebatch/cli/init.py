"""``judgebatch init``: a settings file that works, and a warehouse."""

from pathlib import Path
from typing import Annotated

import typer

from judgebatch.cli import console
from judgebatch.cli.options import SETTINGS_FILE
from judgebatch.errors import UsageError
from judgebatch.settings import load_settings
from judgebatch.warehouse import init as make_warehouse
from judgebatch.warehouse import is_warehouse, refuse_inside_another
from judgebatch.warehouse.sharding import MAX_SHARDS

TEMPLATE = """\
# Settings of judgebatch. Relative paths start at this file's folder; every key can be
# overridden by an environment variable: JUDGEBATCH_WAREHOUSE, JUDGEBATCH_DEFAULTS__QUORUM, ...
# `judgebatch check` says what these settings would read.

warehouse = "warehouse"

# Rows of tenants that stand nowhere below: "quarantine" sets them aside, "defaults" grades
# them under [defaults].
unknown_tenants = "defaults"

[inputs.episodes]
path = "episodes"            # a directory of Parquet files, one file, or a pattern
# assume_timezone = "UTC"    # what timestamps without a zone mean; without this they are refused
# columns = { episode_id = "run_id" }    # the contract's name = the name in your files

[inputs.verdicts]
path = "verdicts"

# [inputs.answers]           # optional: answers that policies are held against
# path = "answers"

[defaults]
mode = "reference"           # each task's first episode is what later ones are compared with;
                             # "tournament" compares the episodes of a group with each other
judging_window = "36h"       # how long comparisons are waited for; "none" waits for nothing
unknown_episode_window = "7d"
# pair_degree = 8            # in groups above 9: how many others each member is compared with
# comparisons_per_pair = 1
# grading_ceiling_usd = 50   # what grading may cost in a period
# budget_period = "month"    # or "day", "all"
# policies = ["release"]     # names of files in the folder policies

# For tournament mode:
# quorum = 8                 # a group closes when it has this many members ...
# group_timeout = "24h"      # ... or this long after its first one
# min_group_size = 3         # a smaller group gets no scores

# [report]
# write = false              # a run leaves report.html beside its tables unless this says not to

# [metrics]
# textfile = "judgebatch.prom"    # for the textfile collector of a Prometheus node exporter

# [promotion]                # is a variant better than its baseline? decided as comparisons come
# variant = "v2"
# baseline = "v1"

# A tenant's own values; what it leaves out is as in [defaults].
# [tenants."acme"]
# mode = "tournament"
# grading_ceiling_usd = 20
"""


def init(
    folder: Annotated[
        Path, typer.Argument(help="Where the settings file goes.", metavar="FOLDER")
    ] = Path(),
    shards: Annotated[
        int,
        typer.Option(
            "--shards",
            metavar="N",
            min=1,
            max=MAX_SHARDS,
            help="Parts that a new warehouse keeps its tenants in, fixed for its life.",
        ),
    ] = 8,
) -> None:
    """Make a settings file, folders for the inputs, and a warehouse.

    Asks nothing and overwrites nothing: a settings file that is there stays as it is, and the
    warehouse that it names is made.

    For example:

        judgebatch init

        judgebatch init grading && judgebatch check --settings grading/judgebatch.toml
    """
    target = folder / SETTINGS_FILE
    fresh = not target.exists()
    if fresh:
        refuse_inside_another(target)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if fresh:
            target.write_text(TEMPLATE, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.") from None
    settings = load_settings(target)
    console.say(f"{'Made' if fresh else 'Kept'} {target}")
    if fresh:
        for spec in settings.inputs.values():
            if not spec.is_remote:
                (spec.root / spec.path).mkdir(exist_ok=True)
                console.say(f"Made {folder / spec.path}, for the {spec.kind}")
    if is_warehouse(settings.warehouse):
        console.say(f"Kept the warehouse {settings.warehouse}")
    else:
        make_warehouse(settings.warehouse, shards, scratch=settings.scratch)
        console.say(f"Made the warehouse {settings.warehouse}")
    option = "" if folder == Path() else f" --settings {target}"
    console.say(f"Next: put Parquet files there, then `judgebatch check{option}`.")
