import math

import pyarrow as pa
import pytest

from judgebatch.contracts.policies import AnswerRows
from judgebatch.contracts.table import schema_of
from judgebatch.errors import InputError
from judgebatch.inputs import WideQuestion
from tests.inputs.made import answers, read, times

DISTRIBUTION = [{"level": 0, "probability": 0.25}, {"level": 1, "probability": 0.75}]


def test_long_answers_follow_their_contract(tmp_path):
    rows, quarantined = read(answers(), tmp_path, "answers")
    assert rows.schema == schema_of(AnswerRows)
    assert rows["probability"].to_list() == [0.5, 0.5]
    assert quarantined.is_empty()


@pytest.mark.parametrize(
    "column",
    [
        pa.array(['{"0": 0.25, "1": 0.75}', None]),
        pa.array([[(0, 0.25), (1, 0.75)], None], pa.map_(pa.int32(), pa.float64())),
        pa.array([[("0", 0.25), ("1", 0.75)], None], pa.map_(pa.string(), pa.float32())),
        pa.array([DISTRIBUTION, None]),
    ],
)
def test_distributions_come_in_several_forms(tmp_path, column):
    rows, _ = read(answers(probabilities=column), tmp_path, "answers")
    assert rows["probabilities"].to_list() == [DISTRIBUTION, None]


def test_a_malformed_answer_is_kept_for_the_policies_to_say(tmp_path):
    table = answers(
        3,
        probability=[math.nan, -1.0, None],
        answer_type=["noul", "nuol", None],
        probabilities=['{"low": 1}', '{"0": "x"}', "{}"],
    )
    rows, quarantined = read(table, tmp_path, "answers")
    assert quarantined.is_empty()
    assert math.isnan(rows["probability"][0])
    assert rows["probabilities"].to_list() == [
        [{"level": None, "probability": 1.0}],
        [{"level": 0, "probability": None}],
        [],
    ]


def test_a_distribution_that_is_no_json_object_is_a_bad_row(tmp_path):
    batch = read(answers(probabilities=["[1]", "{"]), tmp_path, "answers")
    assert batch.rows.is_empty()
    expected = "probabilities is not a JSON object of levels and their probabilities"
    assert batch.quarantined["message"].to_list() == [expected] * 2


def test_an_answer_without_a_question_is_a_bad_row(tmp_path):
    batch = read(answers(3, question=["", None, "q"]), tmp_path, "answers")
    assert batch.quarantined["message"].to_list() == ["question is empty", "question is null"]
    assert batch.quarantined["id"].to_list() == ["", None]


def test_a_nested_type_of_another_shape_is_refused(tmp_path):
    with pytest.raises(InputError, match="probabilities should be JSON text, a map, or a list"):
        read(answers(probabilities=pa.array([[0.5], [0.5]])), tmp_path, "answers")


WIDE = (
    WideQuestion("relevant", "noul", {"probability": "p_rel"}),
    WideQuestion("tone", "choice", {"choice": "tone", "confidence": "tone_sure"}),
)


def test_wide_answers_become_long(tmp_path):
    table = pa.table(
        {
            "tenant_id": ["acme", "acme", ""],
            "episode_id": ["1", "2", "3"],
            "answered_at": times(3),
            "p_rel": [0.5, None, 0.1],
            "tone": ["kind", "curt", "x"],
            "tone_sure": [0.9, None, 0.2],
        }
    )
    rows, quarantined = read(table, tmp_path, "answers", wide=WIDE)
    assert rows.schema == schema_of(AnswerRows)
    assert rows.select("episode_id", "question", "answer_type", "probability", "choice").rows() == [
        ("1", "relevant", "noul", 0.5, None),
        ("1", "tone", "choice", None, "kind"),
        ("2", "tone", "choice", None, "curt"),
    ]
    assert quarantined["message"].to_list() == ["tenant_id is empty"]


def test_a_wide_column_that_is_missing_is_named(tmp_path):
    table = pa.table({"tenant_id": ["a"], "episode_id": ["1"], "answered_at": times(1)})
    with pytest.raises(
        InputError,
        match=r"no column 'p_rel', which the settings name for .* \[inputs\.answers\.wide\]",
    ):
        read(table, tmp_path, "answers", wide=WIDE)
