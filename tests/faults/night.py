"""``python -m tests.faults.night WAREHOUSE METRICS NIGHT``: one night in a process of its own.

Like the command line: a night that is committed already is only published again.
"""

import sys
from pathlib import Path

from judgebatch.errors import JudgebatchError
from judgebatch.reporting.metrics import write_metrics
from judgebatch.warehouse import Warehouse, open_warehouse, publish
from tests.warehouse.nights import night_metrics, run_night


def night(warehouse: Warehouse, metrics: Path, number: int) -> None:
    log = warehouse.runs()
    if len(log) < number:
        run_night(warehouse, metrics=metrics)
    else:
        publish(warehouse)
        write_metrics(metrics, night_metrics(log[number - 1]))


def main() -> int:
    path, metrics, number = sys.argv[1:]
    try:
        night(open_warehouse(Path(path)), Path(metrics), int(number))
    except JudgebatchError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
