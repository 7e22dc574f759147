import numpy as np
import polars as pl
import pytest

from judgebatch.strengths import relative_interval
from judgebatch.strengths.quantile import two_sided


def test_ends_are_the_roots_of_the_score_equation():
    rng = np.random.default_rng(0)
    n = rng.integers(1, 500, 300)
    wins = rng.integers(0, n + 1)
    ties = rng.integers(0, n - wins + 1)
    z = two_sided(0.9)
    score, low, high = relative_interval(pl.Series(wins), pl.Series(ties), pl.Series(n), 0.9)
    corrected = ties * n / (n + z * z)
    for end in (low, high):
        value = end * end * (1 + z * z / n) - end * (2 * score + z * z / n)
        value += score * score + z * z * corrected / (4 * n * n)
        assert np.abs(value).max() < 1e-13
    assert ((low <= score) & (score <= high)).all()


def test_all_won_reaches_one_exactly_and_all_lost_zero():
    score, low, high = relative_interval([3, 0, 10**6, 0], [0, 0, 0, 0], [3, 3, 10**6, 10**6])
    assert high[[0, 2]].tolist() == [1.0, 1.0]
    assert low[[1, 3]].tolist() == [0.0, 0.0]
    assert score.tolist() == [1.0, 0.0, 1.0, 0.0]


def test_all_ties_have_an_interval_with_width():
    _, low, high = relative_interval([0, 0], [1, 40], [1, 40])
    assert (high - low > 0.05).all()


def test_mirrored_counts_mirror_the_interval():
    one = relative_interval([7, 2], [3, 9], [14, 30])
    other = relative_interval([4, 19], [3, 9], [14, 30])
    assert np.allclose(one.low, 1.0 - other.high, atol=1e-15)
    assert np.allclose(one.score, 1.0 - other.score, atol=1e-15)


def test_no_rows():
    assert [column.size for column in relative_interval([], [], [])] == [0, 0, 0]


@pytest.mark.parametrize(("wins", "ties", "n"), [(0, 0, 0), (-1, 0, 2), (0, -1, 2), (2, 1, 2)])
def test_counts_without_a_score_are_refused(wins, ties, n):
    with pytest.raises(ValueError, match="usable comparisons"):
        relative_interval([wins], [ties], [n])


@pytest.mark.parametrize("ties", [0.0, 0.3, 0.6])
def test_coverage_is_near_its_level(ties):
    """Exact over all outcomes, averaged over true scores."""
    for n in (2, 5, 12, 40):
        wins, tied = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        inside = wins + tied <= n
        wins, tied = wins[inside], tied[inside]
        _, low, high = relative_interval(wins, tied, np.full(wins.size, n))
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
        ways = log_factorial[n] - log_factorial[wins] - log_factorial[tied]
        ways -= log_factorial[n - wins - tied]
        shares = np.linspace(0.05, 0.95, 37)
        covered = []
        for share in shares:
            p, q = share * (1 - ties), (1 - share) * (1 - ties)
            logs = ways + wins * np.log(p) + (n - wins - tied) * np.log(q)
            logs += tied * np.log(ties) if ties else np.where(tied, -np.inf, 0.0)
            truth = p + ties / 2
            covered.append(np.exp(logs)[(low <= truth) & (truth <= high)].sum())
        assert 0.92 <= np.mean(covered) <= (1.0 if n < 12 else 0.985), n
        assert min(covered) > 0.8, n
