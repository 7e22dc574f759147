"""What a warehouse rests on, held against a server that refuses what is not signed as it should be.

The other tests speak to moto, which verifies no signature; test_stores.py holds all laws of object
stores against this server and others.
"""

from collections.abc import Callable

import pytest

from judgebatch.cli.main import run_command
from judgebatch.objects.url import parse_url
from judgebatch.warehouse import init
from tests.objects.servers import SECRET
from tests.objects.test_bucket import (  # noqa: F401 - run here too
    short_pauses,
    test_a_reader_reads_from_anywhere_and_notices_a_change,
    test_objects_are_created_once_read_listed_and_removed,
    test_of_twenty_creators_one_succeeds,
)
from tests.objects.test_object_crashes import temporary  # noqa: F401
from tests.objects.test_object_warehouse import (  # noqa: F401
    test_a_query_reads_the_columns_that_it_names,
    test_of_two_writers_the_second_is_told_who_won,
    test_runs_are_those_of_a_folder_to_the_byte,
    warehouse,
)
from tests.objects.test_stores import (  # noqa: F401
    test_a_large_file_arrives_whole,
    test_a_run_killed_twice_is_finished_by_the_third,
)

pytestmark = pytest.mark.parametrize("server", ["seaweedfs"], indirect=True)


def test_a_wrong_key_is_refused_and_said_to_be(
    buckets: Callable[[], str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    url = f"{buckets()}/warehouse"
    init(parse_url(url))
    assert run_command(["history", "--warehouse", url]) == 0
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET[::-1])
    capfd.readouterr()
    assert run_command(["history", "--warehouse", url]) == 2
    said = capfd.readouterr().err
    assert "refuse" in said
    assert SECRET not in said
    assert SECRET[::-1] not in said
