from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from judgebatch.inputs.money import nano_from_decimals, nano_from_doubles, nano_from_integers

EXACT = Context(prec=1_200, rounding=ROUND_HALF_EVEN)
LARGEST = 2**63 - 1

amounts = st.one_of(
    st.floats(min_value=0, allow_nan=False, allow_infinity=False),
    st.floats(min_value=0, max_value=1e10),
    # Next to a half of a nano-dollar, where a rounded product goes wrong.
    st.integers(0, 10**18).map(lambda whole: (whole + 0.5) / 1e9),
    st.tuples(st.integers(0, 2**53), st.integers(0, 62)).map(lambda pair: pair[0] / 2 ** pair[1]),
)


def nano_of(amount: Decimal) -> int:
    return int(EXACT.quantize(EXACT.scaleb(amount, 9), Decimal(1)))


@given(st.lists(amounts, min_size=1, max_size=50))
def test_doubles_round_half_even_as_they_stand(values):
    nano, too_large = nano_from_doubles(np.array(values))
    for value, got, refused in zip(values, nano.tolist(), too_large.tolist(), strict=True):
        wanted = nano_of(Decimal(value))
        assert refused == (wanted > LARGEST)
        assert got == (0 if refused else wanted)


@given(
    st.lists(
        st.none() | st.decimals(min_value=0, max_value=10**15, places=12), min_size=1, max_size=20
    )
)
def test_decimals_round_half_even(values):
    nano, too_large = nano_from_decimals(pa.array(values, pa.decimal128(38, 12)))
    for value, got, refused in zip(values, nano.tolist(), too_large.tolist(), strict=True):
        wanted = nano_of(value or Decimal(0))
        assert refused == (wanted > LARGEST)
        assert got == (0 if refused else wanted)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_integers_are_exact_or_too_large(values):
    nano, too_large = nano_from_integers(np.array(values, dtype=np.int64))
    for value, got, refused in zip(values, nano.tolist(), too_large.tolist(), strict=True):
        assert refused or got == value * 10**9
        assert refused == (abs(value * 10**9) > LARGEST)
