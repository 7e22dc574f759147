"""The views that put tables together. Rates live here and nowhere else: null over nothing."""

from collections.abc import Mapping

from judgebatch.warehouse.derived_view import DerivedView
from judgebatch.warehouse.grading_views import GRADING
from judgebatch.warehouse.judge_views import JUDGES
from judgebatch.warehouse.verdict_views import VERDICTS

DERIVED: Mapping[str, DerivedView] = {**VERDICTS, **GRADING, **JUDGES}
"""By name, in an order in which they can be made."""
