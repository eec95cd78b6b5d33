"""One service on every pair of database and index: the same order, the same isolation, the same deletes.

What runs is examples/service, unchanged; SQLite with the exact index says what is expected of the others.
"""

import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pinecone_server import PineconeServer
from qdrant_server import QdrantServer
from starlette.testclient import TestClient

from recollectx.claims import MAX_NAME
from recollectx.embeddings import HashEmbedder
from recollectx.testing import HOSTILE_SCOPES

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "service"))
from app import application

WIDTH, TIES = 64, 1e-4
NAMES = [name for name in HOSTILE_SCOPES if len(name) <= MAX_NAME]
EXPECTED = "SQLite + exact"
PAIRS = (
    EXPECTED,
    "SQLite + FAISS",
    "SQLite + Qdrant",
    "SQLite + a folder of Qdrant",
    "SQLite + Pinecone",
    "PostgreSQL + exact",
    "PostgreSQL + pgvector",
    "PostgreSQL + Qdrant",
)
HERBS = (
    "basil",
    "chervil",
    "dill",
    "lovage",
    "mint",
    "oregano",
    "rue",
    "sage",
    "savory",
    "sorrel",
    "tansy",
    "thyme",
)
PLACES = ("by the wall", "in the shade", "near the gate", "on the sill", "under glass", "up the hill")
DOINGS = ("grows", "flowers", "wilts", "spreads", "was cut", "was sown")


@contextmanager
def settings_of(pair: str, folder: Path, postgres: Any) -> Iterator[Mapping[str, Any]]:
    """What to configure for a pair, with its services running."""
    database, _, index = pair.partition(" + ")
    with ExitStack() as running:
        settings = {"url": str(folder / "memory.db"), "embedder": HashEmbedder(WIDTH)}
        if database == "PostgreSQL":
            settings["url"] = postgres.fresh()
            running.callback(postgres.drop, settings["url"])
        if index == "Qdrant":
            service = running.enter_context(QdrantServer())
            settings["vectors"] = service.url.replace("http", "qdrant") + "/claims"
        elif index == "a folder of Qdrant":
            settings["vectors"] = f"qdrant://{folder}/qdrant"
        elif index == "Pinecone":
            hosted = running.enter_context(PineconeServer(delay=0.05))
            hosted.make("claims", WIDTH)
            settings |= {"vectors": f"pinecone://claims?host={hosted.url}", "vectors_api_key": hosted.api_key}
        else:
            settings["vectors"] = index.lower()
        yield settings


@pytest.fixture(params=PAIRS)
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TestClient]:
    postgres = request.getfixturevalue("postgres") if "PostgreSQL" in request.param else None
    with (
        settings_of(request.param, tmp_path, postgres) as settings,
        TestClient(application(settings)) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    folder = tmp_path_factory.mktemp("expected")
    with settings_of(EXPECTED, folder, None) as settings, TestClient(application(settings)) as client:
        garden(client)
        return {question: recalled(client, "garden", question) for question in questions()}


def garden(client: TestClient) -> None:
    chance = random.Random(1)
    for n in range(120):
        text = f"The {chance.choice(HERBS)} {chance.choice(DOINGS)} {chance.choice(PLACES)}, says note {n}."
        told(client, "garden", text, source=chance.choice(("Ida", "Jo", "Kai")))


def questions() -> list[str]:
    chance = random.Random(2)
    return [
        f"What {chance.choice(DOINGS)} {chance.choice(PLACES)}? {chance.choice(HERBS)}" for _ in range(25)
    ]


def told(client: TestClient, team: str, text: str, source: str = "Ida") -> str:
    answer = client.post("/claims", params={"team": team}, json={"text": text, "source": source})
    assert answer.status_code == 200, answer.text
    return answer.json()[0]["id"]


def recalled(client: TestClient, team: str, question: str, k: int = 10) -> list[tuple[str, float]]:
    answer = client.get("/recall", params={"team": team, "q": question, "k": k})
    assert answer.status_code == 200, answer.text
    return [(hit["text"], hit["score"]) for hit in answer.json()]


def settled(client: TestClient) -> None:
    assert client.app.state.memory.memory.settle(20)


def test_the_order_is_the_same_up_to_ties(service, expected):
    garden(service)
    for _ in range(2):
        # Before the index has followed, and after.
        for question, hits in expected.items():
            found = recalled(service, "garden", question)
            assert len(found) == len(hits) == 10
            for (text, score), (other, should_be) in zip(found, hits, strict=True):
                assert score == pytest.approx(should_be, abs=TIES)
                if text != other:
                    near = [said for said, number in hits if abs(number - score) <= TIES]
                    assert text in near or score - hits[-1][1] <= TIES, f"{text} in place of {other}"
        settled(service)


def test_scopes_with_hostile_names_see_nothing_of_each_other(service):
    ids = {
        team: told(service, team, "The gate is locked.", source=f"keeper {n}") for n, team in enumerate(NAMES)
    }
    settled(service)
    for team, own in ids.items():
        answer = service.get("/recall", params={"team": team, "q": "Is the gate locked?"})
        assert [hit["id"] for hit in answer.json()] == [own]
        other = next(id for id in ids.values() if id != own)
        for call in (service.get, service.delete):
            assert call(f"/claims/{other}", params={"team": team}).status_code == 404
    gone = ids.pop("team_a")
    assert service.delete(f"/claims/{gone}", params={"team": "team_a"}).status_code == 200
    settled(service)
    assert recalled(service, "team_a", "Is the gate locked?") == []
    assert all(len(recalled(service, team, "Is the gate locked?")) == 1 for team in ids)


def test_what_is_erased_is_gone_from_everywhere(service):
    garden(service)
    doomed = [told(service, "garden", f"The rhubarb number {n} must go.") for n in range(12)]
    settled(service)
    for each in doomed:
        assert service.delete(f"/claims/{each}", params={"team": "garden"}).json()["erased"] == [each]
        assert service.get(f"/claims/{each}", params={"team": "garden"}).status_code == 404
    assert not any("rhubarb" in text for text, _ in recalled(service, "garden", "rhubarb must go", k=50))
    settled(service)
    store = service.app.state.memory.memory.storage
    recalled(service, "garden", "rhubarb")  # which brings an index in this process up
    if store.backend is not None:
        assert not set(doomed) & set(store.backend.ids("garden"))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("not JSON", "say it as JSON"),
        ("\udcff".encode("utf-8", "surrogateescape"), "say it as JSON"),
        ("[" * 100_000, "say it as JSON"),
        ('["text"]', "say it as JSON"),
        ('{"words": "x"}', "say it as JSON"),
        ('{"text": 5}', "'text' must be text"),
        ('{"text": null}', "'text' must be text"),
        ('{"text": "x", "source": ["Ida"]}', "'source' must be text"),
        ('{"text": "\\ud800"}', "surrogate"),
    ],
)
def test_what_is_no_claim_is_refused_with_a_sentence(tmp_path, body, told):
    with TestClient(application({"url": str(tmp_path / "memory.db"), "embedder": "none"})) as client:
        answer = client.post("/claims", params={"team": "garden"}, content=body)
        assert (answer.status_code, told in answer.json()["error"]) == (400, True), answer.text
        said = client.post(
            "/claims", params={"team": "garden"}, json={"text": "Rue is bitter.", "source": None}
        )
        assert said.status_code == 200


@pytest.mark.parametrize("k", ["abc", "-1", "1.5", "", "\u0663", "9" * 5_000])
def test_a_count_that_is_none_is_refused_with_a_sentence(tmp_path, k):
    with TestClient(application({"url": str(tmp_path / "memory.db"), "embedder": "none"})) as client:
        answer = client.get("/recall", params={"team": "garden", "q": "rue", "k": k})
        assert (answer.status_code, "k must be" in answer.json()["error"]) == (400, True)
