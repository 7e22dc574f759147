"""What an error says was probably meant."""

import pytest

from judgebatch.errors import did_you_mean

TABLES = ["warehouse", "tenants", "judge", "report", "metrics", "fit"]
KEYS = ["mode", "group_timeout", "judging_window", "unknown_episode_window", "policies"]
TENANTS = ["acme", "globex", "M\u00fcller & S\u00f6hne"]


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("warehous", TABLES, "warehouse"),
        ("WAREHOUSE", TABLES, "warehouse"),
        ("policy", KEYS, "policies"),
        ("timeout", KEYS, "group_timeout"),
        ("ACME", TENANTS, "acme"),
        ("muller & sohne", TENANTS, "M\u00fcller & S\u00f6hne"),
    ],
)
def test_a_near_name_is_suggested(word, known, meant):
    assert did_you_mean(word, known) == f" (did you mean {meant!r}?)"


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("retries", TABLES),
        ("budget", TABLES),
        ("window", KEYS),
        ("me", TENANTS),
        ("nobody", TENANTS),
        ("", TENANTS),
        ("acme", []),
    ],
)
def test_a_far_name_or_one_of_several_is_not(word, known):
    assert did_you_mean(word, known) == ""
