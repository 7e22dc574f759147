"""Grade: every shard, whole or in slices, over whatever maps the stages."""

from collections import Counter
from collections.abc import Callable, Iterable

from judgebatch.pipeline.ingest import Ingested
from judgebatch.pipeline.mapping import Mapper
from judgebatch.pipeline.shard import (
    FinishTask,
    ShardGraded,
    ShardTask,
    finish_shard,
    grade_shard,
)
from judgebatch.pipeline.slice_grading import Cut, cut_shard, grade_slices
from judgebatch.warehouse import Manifest

SLICE_ROWS = 400_000
"""About how many rows are graded at once: some 2 KB of memory each."""


def weights(
    ingested: Iterable[Ingested], parent: Manifest | None, tasks: Iterable[ShardTask]
) -> Counter[int]:
    """Return about how many rows each shard has: new ones and those of the checkpoint."""
    rows = Counter({task.shard: task.checkpoint.visible() for task in tasks})
    for file in ingested:
        rows.update(file.staged)
    for entry in parent.files if parent else ():
        folder, _, inside = entry.path.removeprefix("state/").partition("/")
        if entry.path.startswith("state/") and "/" not in inside and entry.rows:
            rows[int(folder.rpartition("-")[2])] += entry.rows
    return rows


def grade_shards(
    tasks: list[ShardTask],
    rows: Counter[int],
    slice_rows: int,
    mapper: Mapper,
    progress: Callable[[int, int], None],
) -> list[ShardGraded]:
    """Grade all shards: a small one as one task, a large one in slices.

    Parameters
    ----------
    tasks
        The shards.
    rows
        About how many rows each has.
    slice_rows
        Shards with more are cut.
    mapper
        Maps over shards and slices.
    progress
        Told how many shards are done, and how many there are.
    """
    progress(0, len(tasks))
    done: list[ShardGraded] = []
    large = [task for task in tasks if rows[task.shard] > slice_rows]
    if large:
        cuts = [Cut(task.sliced(), slice_rows) for task in large]
        shards = list(mapper(cut_shard, cuts))
        graded = grade_slices(shards, mapper)
        finish = [
            FinishTask(task, shard, tuple(slices))
            for task, shard, slices in zip(large, shards, graded, strict=True)
        ]
        for one in mapper(finish_shard, finish):
            done.append(one)
            progress(len(done), len(tasks))
    small = [task for task in tasks if rows[task.shard] <= slice_rows]
    for one in mapper(grade_shard, small):
        done.append(one)
        progress(len(done), len(tasks))
    return sorted(done, key=lambda one: one.shard)
