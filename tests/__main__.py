"""Runs everything that has to hold: format, lint, layers, types, tests. `python -m tests [pytest arguments]`."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEPS = (
    ("format", ["-m", "ruff", "format", "--check", "."]),
    ("lint", ["-m", "ruff", "check", "."]),
    ("layers", ["-c", "from importlinter.cli import lint_imports_command as run; run()"]),
    ("types", ["-m", "mypy"]),
    ("tests", ["-m", "pytest"]),
)


def main(arguments: list[str]) -> int:
    """The exit code of the first step that fails, 0 if none does."""
    for name, command in STEPS:
        print(f"== {name}", flush=True)
        extra = arguments if name == "tests" else []
        done = subprocess.run([sys.executable, *command, *extra], cwd=ROOT, check=False)
        if done.returncode:
            print(f"== {name} failed", flush=True)
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
