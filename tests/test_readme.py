"""The README keeps its word: every block of the tour runs and prints what it says; the examples run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", README, re.DOTALL)


def test_every_python_block_says_what_it_prints() -> None:
    assert len(BLOCKS) == README.count("```python") >= 6


@pytest.mark.parametrize("embedder", ["auto", "none"])
def test_the_tour_prints_what_the_readme_says(
    embedder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECTX_EMBEDDER", embedder)
    names: dict[str, object] = {"__name__": "tour"}
    for code, expected in BLOCKS:
        exec(compile(code, "README.md", "exec"), names)
        assert capsys.readouterr().out == expected


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_an_example_runs_and_is_short(example: Path, tmp_path: Path) -> None:
    assert example.read_text(encoding="utf-8").count("\n") <= 50
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 4


def test_the_readme_names_every_dependency() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    dependencies = re.findall(r'^    "([a-z-]+)>=', project, re.MULTILINE)
    assert len(dependencies) >= 12
    for name in dependencies:
        assert name in README, f"{name} is not in the README's table"
