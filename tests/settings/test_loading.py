from pathlib import Path

import pytest

from judgebatch.errors import SettingsError
from judgebatch.inputs import InputKind
from judgebatch.settings import Settings, load_settings
from judgebatch.vocabulary import BudgetPeriod, Mode, UnknownTenants

HOUR_US = 3_600_000_000


def settings(tmp_path: Path, text: str, **environ: str) -> Settings:
    path = tmp_path / "judgebatch.toml"
    path.write_text(text, encoding="utf-8")
    return load_settings(path, environ)


def message(tmp_path: Path, text: str, **environ: str) -> str:
    with pytest.raises(SettingsError) as raised:
        settings(tmp_path, text, **environ)
    assert raised.value.exit_code == 2
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_an_empty_file_has_the_documented_defaults(tmp_path):
    found = settings(tmp_path, "")
    assert found.warehouse == tmp_path / "warehouse"
    assert found.unknown_tenants is UnknownTenants.QUARANTINE
    assert set(found.inputs) == {InputKind.EPISODES, InputKind.VERDICTS}
    assert found.inputs[InputKind.EPISODES].path == "episodes"
    defaults = found.defaults
    assert defaults.mode is Mode.REFERENCE
    assert (defaults.quorum, defaults.min_group_size) == (8, 3)
    assert defaults.group_timeout_us == 24 * HOUR_US
    assert defaults.judging_window_us == 36 * HOUR_US
    assert defaults.unknown_episode_window_us == 7 * 24 * HOUR_US
    assert (defaults.pair_degree, defaults.comparisons_per_pair) == (8, 1)
    assert defaults.ceiling_nano_usd is None
    assert defaults.budget_period is BudgetPeriod.MONTH
    assert defaults.policies == ()
    assert (found.fit.tie_model.value, found.fit.level) == ("half_win", 0.95)
    assert found.promotion is None
    assert found.judge is None
    assert found.metrics_textfile is None


def test_tenants_inherit_what_they_leave_out(tmp_path):
    found = settings(
        tmp_path,
        """
        [defaults]
        quorum = 6
        grading_ceiling_usd = 5
        policies = ["base"]
        [tenants.acme]
        mode = "tournament"
        [tenants."a/b=c"]
        quorum = 2
        grading_ceiling_usd = "none"
        [tenants."a/b=c".tasks."t 1"]
        policies = ["strict", "extra.json"]
        """,
    )
    acme, other = found.tenants["acme"], found.tenants["a/b=c"]
    assert (acme.mode, acme.quorum, acme.ceiling_nano_usd) == (Mode.TOURNAMENT, 6, 5 * 10**9)
    assert acme.policies == ("base",)
    assert (other.quorum, other.min_group_size, other.ceiling_nano_usd) == (2, 2, None)
    assert other.policies_of("t 1") == ("strict", "extra")
    assert other.policies_of("another") == ("base",)
    assert found.tenant("nobody") == found.defaults
    assert found.policy_names() == ("base", "extra", "strict")


def test_a_default_group_size_follows_the_tenants_quorum(tmp_path):
    assert settings(tmp_path, "[defaults]\nquorum = 2").defaults.min_group_size == 2
    assert settings(tmp_path, "[tenants.a]\nquorum = 4").tenants["a"].min_group_size == 3


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("36h", 36 * HOUR_US),
        ("7d", 168 * HOUR_US),
        ("30m", HOUR_US // 2),
        ("0s", 0),
        ("0h", 0),
        ("1w", 168 * HOUR_US),
        ("250ms", 250_000),
        ("3us", 3),
    ],
)
def test_durations_become_microseconds(tmp_path, text, microseconds):
    found = settings(tmp_path, f'[defaults]\njudging_window = "{text}"')
    assert found.defaults.judging_window_us == microseconds


def test_no_judging_window_is_null(tmp_path):
    found = settings(tmp_path, '[defaults]\njudging_window = "none"')
    assert found.defaults.judging_window_us is None


@pytest.mark.parametrize(
    ("written", "nano"),
    [
        ("0", 0),
        ("0.1", 100_000_000),
        ("12.5", 12_500_000_000),
        ('"0.0000000015"', 2),
        ('"0.0000000025"', 2),
        ('"none"', None),
    ],
)
def test_ceilings_become_nano_dollars_half_even(tmp_path, written, nano):
    found = settings(tmp_path, f"[defaults]\ngrading_ceiling_usd = {written}")
    assert found.defaults.ceiling_nano_usd == nano


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[defaults]\nquorm = 3", "[defaults] has an unknown key 'quorm' (did you mean 'quorum'?)"),
        ("quorum = 3", "quorum stands outside a table; it belongs in [defaults]"),
        (
            "warehuose = 'x'",
            "the top level has an unknown key 'warehuose' (did you mean 'warehouse'?",
        ),
        ("[tenants.acme]\nquorum = 1", "[tenants.acme] quorum = 1: expected a whole number, 2 or"),
        ('[tenants."a b"]\nquorum = 1', '[tenants."a b"] quorum = 1'),
        ('[defaults]\nquorum = "8"', 'quorum = "8": expected a whole number, 2 or more (did you'),
        ("[defaults]\nquorum = true", "quorum = true: expected a whole number"),
        ("[defaults]\nquorum = 8.0", "quorum = 8.0: expected a whole number"),
        (
            "[defaults]\nquorum = 2\nmin_group_size = 3",
            "[defaults]: min_group_size = 3 is above quorum = 2",
        ),
        (
            "[defaults]\nmin_group_size = 1",
            "min_group_size = 1: expected a whole number, 2 or more",
        ),
        ('[defaults]\ngroup_timeout = "0h"', "longer than zero"),
        ("[defaults]\ngroup_timeout = 36", '(did you mean "36h"?)'),
        ('[defaults]\ngroup_timeout = "36 Hours"', '(did you mean "36h"?)'),
        ('[defaults]\ngroup_timeout = "none"', "expected a duration"),
        ('[defaults]\ngroup_timeout = "999999999999d"', "at most a hundred years"),
        ('[defaults]\njudging_window = "non"', "(did you mean 'none'?)"),
        ("[defaults]\npair_degree = 3", "expected an even number, 2 or more (did you mean 4?)"),
        ("[defaults]\ncomparisons_per_pair = 0", "expected a whole number, 1 or more"),
        ("[defaults]\ngrading_ceiling_usd = -0.5", "expected an amount in USD of 0 or more"),
        ("[defaults]\ngrading_ceiling_usd = nan", "expected an amount in USD of 0 or more"),
        ("[defaults]\ngrading_ceiling_usd = 1e300", "at most 9223372036"),
        ('[defaults]\nmode = "tornament"', "\"tournament\" (did you mean 'tournament'?)"),
        ('[defaults]\nbudget_period = "Month"', "(did you mean 'month'?)"),
        ('unknown_tenants = "default"', 'unknown_tenants = "default": expected one of'),
        ('[defaults]\npolicies = "a"', '(did you mean ["a"]?)'),
        ('[defaults]\npolicies = ["../a"]', "expected names of files in the folder policies"),
        ("[tenants.a.tasks.t]\npolicy = []", "unknown key 'policy' (did you mean 'policies'?)"),
        ("[tenants]\nacme = 3", "[tenants.acme] must be a table, not 3"),
        ('[tenants.""]', "expected a text, not empty"),
        ("inputs = 3", "[inputs] must be a table, not 3"),
        ("[inputs.epsodes]", "[inputs] has an unknown key 'epsodes' (did you mean 'episodes'?)"),
        (
            "[inputs.episodes.columns]\nepisode = 'x'",
            "unknown column 'episode' (did you mean 'episode_id'?)",
        ),
        (
            "[inputs.episodes.columns]\nrun = 'episode_id'",
            "unknown column 'run' (did you mean episode_id = \"run\"?)",
        ),
        ("[inputs.episodes.columns]\nepisode_id = 3", "expected the file's name for episode_id"),
        ("[inputs.episodes]\nassume_timezone = 'Mars'", "expected the name of a time zone"),
        ("[inputs.answers.wide.q]\ntype = 'nuol'", "(did you mean 'noul'?)"),
        ("[inputs.answers.wide.q]\ntype = 'noul'", "a noul question has the columns probability"),
        ("[fit]\nlevel = 95", "(did you mean 0.95?)"),
        ("[fit]\ntie_model = 'davidsson'", "(did you mean 'davidson'?)"),
        ("[promotion]\nvariant = 'a'", "[promotion] needs the key 'baseline'"),
        ("[promotion]\nvariant = 'a'\nbaseline = 'a'", "two different variants"),
        ("[promotion]\nvariant = 'a'\nbaseline = 'b'\np0 = 0.7", "p0 = 0.7 must be below p1 = 0.6"),
        ("[judge]\njury = 'x'", "[judge] needs the key 'name'"),
        ("warehouse = 3", 'warehouse = 3: expected a text, not empty (did you mean "3"?)'),
        ("warehouse =", "is not TOML"),
    ],
)
def test_a_wrong_value_says_what_is_allowed_and_what_was_meant(tmp_path, text, expected):
    said = message(tmp_path, text)
    assert expected in said
    assert str(tmp_path / "judgebatch.toml") in said


def test_a_wrong_default_is_named_once_where_it_stands(tmp_path):
    said = message(tmp_path, "[defaults]\nquorum = 1\n[tenants.a]\n[tenants.b]")
    assert "[defaults] quorum = 1" in said
    assert "more problem" not in said


def test_further_problems_are_counted(tmp_path):
    assert "(1 more problem after this one.)" in message(
        tmp_path, "[defaults]\nquorum = 1\npair_degree = 3"
    )


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(SettingsError, match="judgebatch init"):
        load_settings(tmp_path / "judgebatch.toml", {})
    with pytest.raises(SettingsError, match="is a directory"):
        load_settings(tmp_path, {})


def test_a_file_that_is_not_text_is_named(tmp_path):
    path = tmp_path / "judgebatch.toml"
    path.write_bytes(b"warehouse = '\xff'")
    with pytest.raises(SettingsError, match="not UTF-8 text"):
        load_settings(path, {})


def test_relative_paths_start_at_the_file_and_absolute_ones_stay(tmp_path):
    found = settings(
        tmp_path,
        f"warehouse = '{tmp_path}/elsewhere'\n[metrics]\ntextfile = 'm/judgebatch.prom'",
    )
    assert found.warehouse == tmp_path / "elsewhere"
    assert found.metrics_textfile == tmp_path / "m" / "judgebatch.prom"
    assert found.policies_folder == tmp_path / "policies"
    assert found.inputs[InputKind.EPISODES].root == tmp_path


def test_the_environment_overrides_the_file(tmp_path):
    found = settings(
        tmp_path,
        "[defaults]\nquorum = 5\n[tenants.Acme]\nmode = 'tournament'",
        JUDGEBATCH_WAREHOUSE="/data/wh",
        JUDGEBATCH_DEFAULTS__QUORUM="6",
        JUDGEBATCH_DEFAULTS__JUDGING_WINDOW="none",
        JUDGEBATCH_TENANTS__ACME__PAIR_DEGREE="4",
        JUDGEBATCH_TENANTS__new__QUORUM="3",
        JUDGEBATCH_INPUTS__EPISODES__COLUMNS='{episode_id = "run_id"}',
    )
    assert found.warehouse == Path("/data/wh")
    assert (found.defaults.quorum, found.defaults.judging_window_us) == (6, None)
    assert (found.tenants["Acme"].quorum, found.tenants["Acme"].pair_degree) == (6, 4)
    assert found.tenants["new"].quorum == 3
    assert found.inputs[InputKind.EPISODES].columns == {"episode_id": "run_id"}


def test_a_wrong_variable_is_named(tmp_path):
    said = message(tmp_path, "", JUDGEBATCH_DEFAULTS__QUORUM="1")
    assert said.startswith("The environment variable JUDGEBATCH_DEFAULTS__QUORUM: [defaults]")
    said = message(tmp_path, "", JUDGEBATCH_WAREHOSE="x")
    assert "JUDGEBATCH_WAREHOSE names no setting (did you mean 'warehouse'?)" in said
    said = message(tmp_path, "warehouse = 'x'", JUDGEBATCH_WAREHOUSE__PATH="x")
    assert "steps into warehouse, which is no table" in said


def test_other_variables_with_the_prefix_are_left_alone(tmp_path):
    assert settings(tmp_path, "", JUDGEBATCH_PORT="tcp://10.0.0.1:80").tenants == {}
