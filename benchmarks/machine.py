"""What a benchmark ran on, in one line."""

import os
import platform
import sqlite3
from pathlib import Path


def machine() -> str:
    """Processor, cores, Python and SQLite."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return (
        f"{model or platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )
