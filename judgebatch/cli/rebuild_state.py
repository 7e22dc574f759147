"""``judgebatch rebuild-state``: make a damaged checkpoint again."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import typer

from judgebatch.cli import console
from judgebatch.cli.opening import WarehouseOption, chosen_warehouse
from judgebatch.cli.options import SETTINGS_FILE, JsonOption, SettingsOption
from judgebatch.errors import WarehouseDamagedError
from judgebatch.pipeline.rebuilding import rebuild_state as rebuild
from judgebatch.warehouse import Warehouse


def rebuild_state(
    *,
    settings: SettingsOption = SETTINGS_FILE,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make damaged or missing files of checkpoints again, so that the next run can go on.

    From the published tables, and from the spare copy that each run keeps of what is in no
    table. Every file gets the bytes that its run wrote, or is left alone: nothing published
    changes. Exits 5 where a file could not be made again, and says why.

    For example:

        judgebatch rebuild-state

        judgebatch rebuild-state --warehouse corpus/warehouse --json
    """
    found = chosen_warehouse(settings, warehouse)
    with _shown() as progress:
        rebuilt = rebuild(found, progress)
    if as_json:
        console.say_json(
            {
                "warehouse": found.name,
                "checked": rebuilt.checked,
                "restored": [one._asdict() for one in rebuilt.restored],
                "lost": [vars(one) for one in rebuilt.lost],
            }
        )
    else:
        for one in rebuilt.restored:
            console.say(f"{one.where}: {one.what}; {one.how}")
        for lost in rebuilt.lost:
            console.say(str(lost))
        console.say(_whole(found, rebuilt.checked, len(rebuilt.restored), len(rebuilt.lost)))
    if rebuilt.lost:
        raise typer.Exit(WarehouseDamagedError.exit_code)


@contextmanager
def _shown() -> Iterator[Callable[[int, int], None]]:
    """Show progress once it is known how much is damaged."""
    with ExitStack() as shown:
        steps: list[console.Step] = []

        def progress(done: int, total: int) -> None:
            if done == 0:
                steps.append(shown.enter_context(console.progress("rebuild", total, "files")))
            else:
                steps[-1](1)

        yield progress


def _whole(warehouse: Warehouse, checked: int, restored: int, lost: int) -> str:
    if not restored and not lost:
        files = console.counted(checked, "file")
        return f"Nothing to do: {files} of the checkpoints of {warehouse.name} are as written."
    again = f"{console.counted(restored, 'file')} made again"
    return (
        f"{again}, {lost:,} lost, in {warehouse.name}" if lost else f"{again} in {warehouse.name}"
    )
