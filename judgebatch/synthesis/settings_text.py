"""The settings file of a corpus."""

import json

from judgebatch.synthesis.tenants import COMPARISONS_PER_PAIR, QUORUM, TIMEOUT_HOURS, Tenants

_HEAD = f"""\
# Settings of a made-up corpus. `judgebatch check --settings FILE` says what they would read.

warehouse = "warehouse"
unknown_tenants = "quarantine"    # {{unknown}} is in the data and not below

[inputs.episodes]
path = "episodes"

[inputs.verdicts]
path = "verdicts"

[defaults]
mode = "reference"
comparisons_per_pair = {COMPARISONS_PER_PAIR}
judging_window = "36h"

[promotion]
variant = "v2"
baseline = "v1"
"""

_TOURNAMENT = f"""\
mode = "tournament"
comparisons_per_pair = 1
quorum = {QUORUM}
min_group_size = 3
group_timeout = "{TIMEOUT_HOURS}h"
"""


def settings_text(tenants: Tenants) -> str:
    """Return the settings that a corpus of ``tenants`` is graded with."""
    parts = [_HEAD.format(unknown=tenants.names[-1])]
    for index, (name, budget) in enumerate(zip(tenants.names, tenants.budgets, strict=False)):
        lines = f"\n[tenants.{json.dumps(name, ensure_ascii=False)}]\n"
        if tenants.is_tournament[index]:
            lines += _TOURNAMENT
        if budget is not None:
            lines += f"grading_ceiling_usd = {budget.ceiling_usd}\n"
            lines += f'budget_period = "{budget.period}"\n'
        parts.append(lines)
    return "".join(parts)
