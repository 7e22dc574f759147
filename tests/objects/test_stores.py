"""The laws of object stores, which the other tests hold against moto, against other servers.

SeaweedFS is a server of the S3 protocol that people run: a gateway, names and volumes, and it
refuses what is not signed. Azurite is the emulator of Azure Blob Storage by its makers. The client
of Google Cloud Storage speaks to moto, which is told what it calls differently.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgebatch.objects.bucket import MULTIPART_BYTES, Bucket
from tests.objects.test_bucket import (  # noqa: F401 - run here too
    short_pauses,
    test_a_download_that_breaks_off_goes_on_where_it_was,
    test_a_reader_reads_from_anywhere_and_notices_a_change,
    test_objects_are_created_once_read_listed_and_removed,
    test_of_twenty_creators_one_succeeds,
    test_what_a_busy_store_turns_away_is_tried_again,
)
from tests.objects.test_object_crashes import (  # noqa: F401
    killed_and_run_again,
    of_many_writers_one_commits,
    temporary,
    test_no_secret_is_written_or_said_anywhere,
)
from tests.objects.test_object_faults import (  # noqa: F401
    test_a_loser_in_the_middle_of_its_puts_is_told_so,
    test_a_run_commits_through_a_fault,
)
from tests.objects.test_object_inputs import (  # noqa: F401
    test_a_file_that_changes_while_it_is_read_is_noticed,
    test_a_pattern_stands_for_what_it_matches,
    test_a_prefix_stands_for_its_parquet_files_at_any_depth,
    test_rows_and_digest_are_those_of_the_same_file_on_disk,
)
from tests.objects.test_object_warehouse import (  # noqa: F401
    test_a_damaged_checkpoint_is_made_again_in_its_place,
    test_a_living_runs_objects_are_not_removed_by_others,
    test_a_prefix_that_holds_something_else_is_refused,
    test_a_query_reads_the_columns_that_it_names,
    test_answers_of_a_judge_survive_the_machine,
    test_commands_say_the_same_as_over_a_folder,
    test_objects_that_nobody_committed_are_found_and_removed,
    test_of_two_writers_the_second_is_told_who_won,
    test_runs_are_those_of_a_folder_to_the_byte,
    test_verify_finds_damage_that_no_copy_hides,
    warehouse,
)

pytestmark = [
    pytest.mark.soak,
    pytest.mark.parametrize("server", ["seaweedfs", "azurite", "moto as google"], indirect=True),
]


def test_a_large_file_arrives_whole(bucket: Bucket, tmp_path: Path) -> None:
    content = os.urandom(2 * MULTIPART_BYTES + 1)
    (tmp_path / "file").write_bytes(content)
    bucket.upload("large", tmp_path / "file")
    assert bucket.sha256("large") == hashlib.sha256(content).hexdigest()
    assert bucket.read_range("large", 5, 20_000_000) == content[5:20_000_000]


def test_a_run_killed_twice_is_finished_by_the_third(
    corpus: Path,
    local_runs: list[dict[str, Any]],
    buckets: Callable[[], str],
    tmp_path: Path,
    temporary: Path,  # noqa: F811 - the fixture
) -> None:
    killed_and_run_again(corpus, buckets(), tmp_path, local_runs, "objects.put:5", "commit.renamed")


def test_of_five_writers_one_commits(
    corpus: Path,
    local_runs: list[dict[str, Any]],
    buckets: Callable[[], str],
    tmp_path: Path,
    temporary: Path,  # noqa: F811 - the fixture
) -> None:
    of_many_writers_one_commits(corpus, buckets(), tmp_path, local_runs, 5)
