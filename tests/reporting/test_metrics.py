from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from judgebatch.reporting.metrics import metrics_text, write_metrics
from judgebatch.vocabulary import QuarantineReason, ScoreKind, UngradedReason, UnknownTokenError

NIGHT: dict[str, Any] = {
    "run": 7,
    "as_of": datetime(2026, 3, 1, 3, tzinfo=UTC),
    "graded": {"relative": 10, "tournament": 4},
    "ungraded": {"no_reference": 3},
    "quarantined": {"bad_row": 2},
    "waiting": {"episodes": 5, "comparisons": 6},
    "rows_read": {"episodes": 22, "verdicts": 40},
    "judge": {"answered": 9, "raised": 1},
    "duration_seconds": 12.5,
    "succeeded_at": datetime(2026, 3, 1, 3, 1, tzinfo=UTC),
}


def samples(text: bytes) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_graded_and_ungraded_by_reason_are_series_of_their_own() -> None:
    found = samples(metrics_text(**NIGHT))
    assert found["judgebatch_graded_episodes", ("relative",)] == 10
    assert found["judgebatch_graded_episodes", ("tournament",)] == 4
    assert found["judgebatch_ungraded_episodes", ("no_reference",)] == 3
    assert found["judgebatch_quarantined_rows", ("bad_row",)] == 2
    assert found["judgebatch_waiting_rows", ("comparisons",)] == 6
    assert found["judgebatch_read_rows", ("verdicts",)] == 40
    assert found["judgebatch_judge_pairs", ("answered",)] == 9
    assert found["judgebatch_judge_pairs", ("malformed",)] == 0
    assert found["judgebatch_last_run", ()] == 7
    assert found["judgebatch_run_duration_seconds", ()] == 12.5
    moment = datetime(2026, 3, 1, 3, 1, tzinfo=UTC).timestamp()
    assert found["judgebatch_last_success_timestamp_seconds", ()] == moment


def test_every_kind_and_reason_has_a_series_also_at_zero() -> None:
    found = samples(metrics_text(**NIGHT | {"graded": {}, "ungraded": {}, "quarantined": {}}))
    for name, tokens in (
        ("graded_episodes", ScoreKind),
        ("ungraded_episodes", UngradedReason),
        ("quarantined_rows", QuarantineReason),
    ):
        for token in tokens:
            assert found[f"judgebatch_{name}", (token.value,)] == 0


def test_no_label_can_name_a_tenant() -> None:
    families = text_string_to_metric_families(metrics_text(**NIGHT).decode())
    labels = {label for family in families for sample in family.samples for label in sample.labels}
    assert labels == {"score_kind", "reason", "input", "outcome"}


def test_an_unknown_reason_is_refused() -> None:
    with pytest.raises(UnknownTokenError):
        metrics_text(**NIGHT | {"ungraded": {"acme": 1}})


def test_the_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "textfiles" / "judgebatch.prom"
    write_metrics(path, b"one\n")
    write_metrics(path, b"two\n")
    assert path.read_bytes() == b"two\n"
    assert list(path.parent.iterdir()) == [path]
