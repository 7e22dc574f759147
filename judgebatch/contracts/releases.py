"""Rows of the quarantine that somebody released, so that the next run takes them in again."""

from judgebatch.contracts import columns as c
from judgebatch.contracts.table import Table


class Releases(Table):
    """One row per row of the quarantine that was released to the next run."""

    name = "audit/releases"
    order = ("input", "source_file", "source_row", "tenant_id", "id", "quarantined_in")
    identified_by = ("quarantined_in", "input", "source_file", "source_row", "id")

    run = c.count("The run that recorded the release.")
    as_of = c.time("The logical time of that run.")
    quarantined_in = c.count("The run that had set the row aside.")
    input = c.text("The input table: episodes, verdicts or answers.")
    tenant_id = c.text("The row's tenant.", null=True)
    id = c.text("The row's own id.", null=True)
    source_file = c.text("The input file.")
    source_row = c.count("The row's number in that file, from 0.")
    reason = c.text("Why it had been set aside.")
    who = c.text("Who asked for it.")
    why = c.text("The reason given.")


class ReleasedRows(Table):
    """Released rows that a run takes in, to be known again where they are set aside again."""

    name = "released_rows"
    kind = "state"
    order = ("input", "source_file", "source_row", "id")

    input = c.text("The input table.")
    tenant_id = c.text("The row's tenant.", null=True)
    id = c.text("The row's own id.", null=True)
    source_file = c.text("The input file.")
    source_row = c.count("The row's number in that file, from 0.")
    released_in = c.count("The run that recorded the release.")
