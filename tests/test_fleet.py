"""Several processes, one database and one vector index: killed, restarted, failing at random, and at the same time.

RECOLLECTX_FLEET_SECONDS says for how long two processes write; by hand it was 60.
"""

import json
import os
import random

import fleet_writer
import pytest
from click.testing import CliRunner
from qdrant_server import QdrantServer
from test_feeding import agreement

from recollectx import Memory
from recollectx.cli.app import app
from recollectx.embeddings import HashEmbedder

SECONDS = float(os.environ.get("RECOLLECTX_FLEET_SECONDS", "4"))
ROUNDS = 3


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        yield str(tmp_path / "fleet.db")
        return
    postgres = request.getfixturevalue("postgres")
    made = postgres.fresh()
    yield made
    postgres.drop(made)


def named(service: QdrantServer) -> str:
    return service.url.replace("http", "qdrant") + "/claims"


def told(lines: str, what: str) -> list[str]:
    return [line.split()[1] for line in lines.splitlines() if line.startswith(f"{what} ")]


def test_killed_writers_and_a_failing_index_end_in_agreement_after_repair(url, tmp_path):
    chance, lines = random.Random(3), ""
    with QdrantServer(failing=0.3, seed=5, on="/points") as service:
        for number in range(ROUNDS):
            child = fleet_writer.started(url, named(service), number)
            lines += child.stdout.readline()
            for _ in range(chance.randrange(20, 60)):
                lines += child.stdout.readline()
            if number % 2:
                service.stop()
            child.kill()
            # The last line may have been cut off in the middle.
            rest = child.communicate()[0]
            lines += rest[: rest.rfind("\n") + 1]
            if number % 2:
                service.start()
        service.failing = 0
        config = tmp_path / "settings.toml"
        config.write_text(f'url = "{url}"\nvectors = "{named(service)}"\nembedder = "hash"\n')
        run = CliRunner(env={"RECOLLECTX_EMBEDDER": None})
        done = run.invoke(app, ["doctor", "--repair", "--json", "--config", str(config)])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["ok"]
        stored, erasing, erased = (told(lines, what) for what in ("stored", "erasing", "erased"))
        assert len(set(stored)) == len(stored) > ROUNDS
        with Memory.open(url, vectors=named(service), embedder="hash") as memory:
            assert memory.settle(20)
            kept = set(stored) - set(erasing)
            assert {id for id in stored if memory.get(id) is not None} >= kept
            assert not {id for id in erased if memory.get(id) is not None}
            agreement(memory, service, HashEmbedder().dimension)


def test_two_processes_write_at_once_and_nothing_is_lost(url):
    with QdrantServer() as service:
        writers = [fleet_writer.started(url, named(service), number, SECONDS) for number in (1, 2)]
        outputs = [writer.communicate(timeout=SECONDS + 60)[0] for writer in writers]
        assert [writer.returncode for writer in writers] == [0, 0]
        stored = {id for lines in outputs for id in told(lines, "stored")}
        erased = {id for lines in outputs for id in told(lines, "erased")}
        common = sum(lines.count("common") for lines in outputs)
        assert all(len(told(lines, "stored")) > 3 for lines in outputs)
        with Memory.open(url, vectors=named(service), embedder="hash") as memory:
            assert memory.settle(20)
            claims = {claim.id: claim for claim in memory.retrieve()}
            (shared,) = (claim for claim in claims.values() if claim.text == fleet_writer.COMMON)
            assert set(claims) - {shared.id} == stored - erased
            assert shared.support_count == common
            agreement(memory, service, HashEmbedder().dimension)
