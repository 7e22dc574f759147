"""What a command takes, with all processes that it starts: time, and memory by /proc."""

import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ALONE = 1.25
"""Busy cores up to which the work counts as done by one process alone."""

WINDOW_SECONDS = 1.0
"""How long cores are looked at to say how many are busy; ticks of the clock are 0.01 s."""


@dataclass
class Cost:
    """What a command took."""

    wall: float
    cpu: float
    largest: float
    """Peak resident MiB of the largest process."""
    anonymous: float
    """The same without mapped files."""
    together: float
    """Peak resident MiB of all processes at one time."""
    alone: float
    """Wall seconds with at most ALONE cores busy: what more workers cannot shorten."""

    def __str__(self) -> str:
        return (
            f"{self.wall:,.0f} s wall, {self.cpu:,.0f} s CPU; peak {self.largest:,.0f} MiB in one "
            f"process ({self.anonymous:,.0f} without mapped files), {self.together:,.0f} MiB in "
            f"all; {self.alone:,.0f} s with at most {ALONE} cores busy"
        )


def measured(command: list[str]) -> Cost:
    """Run a command and watch its processes."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cost = Cost(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    cpu: dict[int, float] = {}
    begun, spent = started, 0.0
    while process.poll() is None:
        pids = family(process.pid)
        cpu |= {pid: seconds for pid in pids if (seconds := cpu_of(pid))}
        if (length := time.monotonic() - begun) >= WINDOW_SECONDS:
            total = sum(cpu.values())
            if total - spent <= ALONE * length:
                cost.alone += length
            begun, spent = begun + length, total
        sizes = [memory_of(pid) for pid in pids]
        cost.largest = max([cost.largest, *(one.get("VmHWM", 0.0) for one in sizes)])
        cost.anonymous = max([cost.anonymous, *(one.get("RssAnon", 0.0) for one in sizes)])
        cost.together = max(cost.together, sum(one.get("VmRSS", 0.0) for one in sizes))
        time.sleep(0.05)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    cost.wall = time.monotonic() - started
    cost.cpu = sum(cpu.values())
    return cost


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process; 0 once it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """Return a process and all that it started, directly or not, in any of its threads."""
    children: list[int] = []
    # A thread, or the process, may end while it is looked at.
    with suppress(OSError):
        for started in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                children += map(int, started.read_text().split())
    return [pid, *(one for child in children for one in family(child))]


def memory_of(pid: int) -> dict[str, float]:
    """Return a process's memory figures in MiB; none once it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines if line.endswith("kB"))
    return {name.rstrip(":"): int(size) / 1024 for name, size, _ in fields}
