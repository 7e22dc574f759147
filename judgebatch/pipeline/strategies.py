"""Custom strategies that installed packages register."""

from importlib.metadata import entry_points

from judgebatch.errors import SettingsError
from judgebatch.juries.custom import ENTRY_POINTS, CustomStrategy


def installed_strategies() -> dict[str, CustomStrategy]:
    """Return the strategies that entry points name.

    Raises
    ------
    SettingsError
        One cannot be loaded, or is no strategy.
    """
    found: dict[str, CustomStrategy] = {}
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            strategy = point.load()
        except Exception as error:
            raise SettingsError(
                f"the strategy {point.name} ({point.value}) cannot be loaded: {error}; repair or "
                "remove the package that registers it"
            ) from error
        if not isinstance(strategy, CustomStrategy):
            raise SettingsError(
                f"the strategy {point.name} ({point.value}) is a {type(strategy).__name__}, not a "
                "CustomStrategy; repair or remove the package that registers it"
            )
        found[point.name] = strategy
    return found
