import datetime as dt
import decimal
import json

import pyarrow as pa
import pytest

from judgebatch.inputs.json_rows import json_rows

MOMENT = dt.datetime(2026, 3, 1, 12, 30)  # noqa: DTZ001 - a column without zone


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array(['a"\n}', None]), ['{"v":"a\\"\\n}"}', '{"v":null}']),
        (pa.array([1, None], pa.int8()), ['{"v":1}', '{"v":null}']),
        (pa.array([2**64 - 1], pa.uint64()), ['{"v":18446744073709551615}']),
        (pa.array([0.1, 1e300, -0.0]), ['{"v":0.1}', '{"v":1e+300}', '{"v":-0.0}']),
        (
            pa.array([float("nan"), float("inf"), float("-inf")]),
            ['{"v":"NaN"}', '{"v":"Infinity"}', '{"v":"-Infinity"}'],
        ),
        (pa.array([True, None]), ['{"v":true}', '{"v":null}']),
        (pa.nulls(1), ['{"v":null}']),
        (pa.array([b"\xff\x00"]), ['{"v":"ff00"}']),
        (pa.array([decimal.Decimal("1.50")]), ['{"v":"1.50"}']),
        (pa.array([decimal.Decimal("1.50")], pa.decimal256(60, 2)), ['{"v":"1.50"}']),
        (
            pa.array([MOMENT], pa.timestamp("ns", "Nowhere/Land")),
            ['{"v":"2026-03-01T12:30:00+00:00"}'],
        ),
        (pa.array([MOMENT.date()]), ['{"v":"2026-03-01"}']),
        (
            pa.array([2**62, 0], pa.timestamp("us", "UTC")),
            ['{"v":"4611686018427387904 us since 1970"}', '{"v":"1970-01-01T00:00:00+00:00"}'],
        ),
        (
            pa.array([2**31 - 1, None], pa.date32()),
            ['{"v":"2147483647 days since 1970"}', '{"v":null}'],
        ),
        (pa.array([MOMENT.time()]), ['{"v":"12:30:00"}']),
        (pa.array(["x"]).dictionary_encode(), ['{"v":"x"}']),
        (pa.array([[1, None], [], None]), ['{"v":[1,null]}', '{"v":[]}', '{"v":null}']),
        (pa.array([{"a": [b"\x01"], "b": float("nan")}]), ['{"v":{"a":["01"],"b":"NaN"}}']),
        (pa.array([{"a": 1, "b": "x"}]), ['{"v":{"a":1,"b":"x"}}']),
        (
            pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int8())),
            ['{"v":[["a",1],["a",2]]}'],
        ),
        (pa.array([{}], pa.struct([])), ['{"v":{}}']),
    ],
)
def test_values_of_any_type_have_one_text(array, expected):
    texts = json_rows([("v", array)], len(array)).to_list()
    assert texts == expected
    assert [list(json.loads(text)) for text in texts] == [["v"]] * len(array)


@pytest.mark.parametrize("name", ["", "*", "^a$", 'quo"te', "new\nline", "日本"])
def test_members_have_the_columns_names_whatever_they_are(name):
    (text,) = json_rows([(name, pa.array([1])), ("z", pa.array(["}"]))], 1)
    assert json.loads(text) == {name: 1, "z": "}"}


def test_no_columns_are_empty_objects():
    assert json_rows([], 2).to_list() == ["{}", "{}"]


def test_a_slice_is_its_own_rows():
    array = pa.array([[b"a"], [b"b"], [b"c"]])
    assert json_rows([("v", array.slice(1, 1))], 1).to_list() == ['{"v":["62"]}']


def test_a_value_that_python_cannot_hold_names_its_column():
    nested = pa.array([[2**62]], pa.list_(pa.timestamp("us", "UTC")))
    with pytest.raises(TypeError, match="column 'v' of type list"):
        json_rows([("v", nested)], 1)
