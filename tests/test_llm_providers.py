"""Providers: the vendors' own clients against a server on loopback that speaks their protocol and misbehaves."""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator

import pytest

from recollectx.errors import BackendError, InvalidSetting, ModelError, ModelRefused
from recollectx.llm import LLMResponse, Usage, ask
from recollectx.llm.providers import (
    AnthropicProvider,
    CachedEmbedder,
    FunctionProvider,
    LangChainProvider,
    LocalEmbedder,
    OllamaProvider,
    OpenAIProvider,
    OpenRouterProvider,
    provider_from,
)
from recollectx.testing import LLMProviderContract, ScriptedProvider
from recollectx.testing.models import COLOURS, RED
from tests.language_models import Endpoint, Fails, Says, Service, served

KEY = "sk-key-that-must-stay-secret"
NEEDS = {"openai": "openai", "openrouter": "openai", "anthropic": "anthropic", "ollama": "ollama"}
SERVICES = list(NEEDS)
GOOD = json.dumps(RED)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    """The machine's own keys and models stay out."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "ANTHROPIC_", "OPENROUTER_", "OLLAMA_", "LANGCHAIN_", "LANGSMITH_")):
            monkeypatch.delenv(name)


def make(kind: str, service: Service, **settings):
    pytest.importorskip(NEEDS[kind])
    if kind == "ollama":
        return OllamaProvider("small", base_url=service.url, **settings)
    if kind == "anthropic":
        return AnthropicProvider(KEY, "small", base_url=service.url, **settings)
    maker = OpenAIProvider if kind == "openai" else OpenRouterProvider
    return maker(KEY, "small", base_url=f"{service.url}/v1", **settings)


class OnLoopback(LLMProviderContract):
    """The contract over a Service of each test's own."""

    KIND = ""

    @pytest.fixture(autouse=True)
    def running(self):
        self.opened = []
        yield
        for block in self.opened:
            block.__exit__(None, None, None)

    def serve(self, *script, **settings) -> Service:
        block = served(*script, **settings)
        self.opened.append(block)
        return block.__enter__()

    def saying(self, replies):
        return make(self.KIND, self.serve(list(replies)))

    def failing(self):
        return make(self.KIND, self.serve([], Fails(500)), max_retries=0)


class TestOpenAI(OnLoopback):
    KIND = "openai"


class TestOpenRouter(OnLoopback):
    KIND = "openrouter"


class TestAnthropic(OnLoopback):
    KIND = "anthropic"


class TestOllama(OnLoopback):
    KIND = "ollama"


class TestLangChain(OnLoopback):
    """ChatOpenAI, which holds its model to a schema its own way."""

    def saying(self, replies):
        return chat_openai(self.serve(list(replies)))

    def failing(self):
        return chat_openai(self.serve([], Fails(500)), max_retries=0)


class TestFunction(LLMProviderContract):
    def saying(self, replies):
        script = iter(replies)
        return FunctionProvider(lambda prompt: next(script))

    def failing(self):
        return FunctionProvider(lambda prompt: 1 // 0)


class TestScripted(LLMProviderContract):
    def saying(self, replies):
        return ScriptedProvider(replies)

    def failing(self):
        return ScriptedProvider([])


class Plain:
    """A provider as a user writes it: no base class, a string back."""

    def __init__(self, replies):
        self.replies = iter(replies)

    def generate(self, prompt, system_prompt=None, temperature=0.7, max_tokens=1000):
        return next(self.replies)


class TestUsersOwn(LLMProviderContract):
    def saying(self, replies):
        return Plain(replies)


def chat_openai(service: Service, **settings) -> LangChainProvider:
    package = pytest.importorskip("langchain_openai")
    return LangChainProvider(
        package.ChatOpenAI(model="small", api_key=KEY, base_url=f"{service.url}/v1", **settings)
    )


@pytest.fixture(params=SERVICES)
def kind(request) -> Iterator[str]:
    return request.param


# What is sent, and what comes back.


def test_sends_prompt_system_prompt_and_limits_by_the_service_s_names(kind):
    with served(["fine"]) as service:
        llm = make(kind, service)
        response = llm.generate("Say fine", "Be short", temperature=0.5, max_tokens=77)
    assert response == LLMResponse(
        "fine",
        {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        "small-2026",
        response.metadata,
    )
    (asked,) = service.requests
    assert asked["model"] == "small"
    assert asked["messages"][-1] == {"role": "user", "content": "Say fine"}
    if kind == "anthropic":
        assert (asked["system"], asked["temperature"], asked["max_tokens"]) == ("Be short", 0.5, 77)
    else:
        assert asked["messages"][0] == {"role": "system", "content": "Be short"}
    if kind == "ollama":
        assert asked["options"] == {"temperature": 0.5, "num_predict": 77}
    if kind in ("openai", "openrouter"):
        assert (asked["temperature"], asked["max_completion_tokens"]) == (0.5, 77)
        assert "max_tokens" not in asked


def test_what_nobody_asked_for_is_not_sent(kind):
    with served(["fine"]) as service:
        make(kind, service).generate("Say fine", max_tokens=None)
    assert set(service.requests[0]) <= {"model", "messages", "stream", "options", "tools", "max_tokens"}
    assert not service.requests[0].get("options")


def test_a_schema_goes_the_native_way_and_not_into_the_prompt(kind):
    with served([GOOD]) as service:
        llm = make(kind, service)
        assert llm.generate_structured("Which colours?", COLOURS) == RED
    (asked,) = service.requests
    assert asked["messages"][-1]["content"] == "Which colours?"
    if kind == "ollama":
        assert (asked["format"], asked["think"]) == (COLOURS, False)
    elif kind == "anthropic":
        assert asked["output_config"]["format"]["type"] == "json_schema"
        assert asked["output_config"]["format"]["schema"]["required"] == ["colours"]
    else:
        shape = {"name": "colours", "schema": COLOURS, "strict": True}
        assert asked["response_format"] == {"type": "json_schema", "json_schema": shape}


def test_an_open_schema_is_not_sent_as_strict():
    with served([GOOD]) as service:
        ask(make("openai", service), "Which?", {**COLOURS, "additionalProperties": True})
    assert service.requests[0]["response_format"]["json_schema"]["strict"] is False


def test_a_chat_model_is_asked_as_it_is():
    chat = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    answer = ask(chat.FakeListChatModel(responses=[json.dumps(RED)]), "Which?", COLOURS)
    assert (answer.value, answer.problems) == (RED, ())


def test_a_pydantic_class_is_a_schema(kind):
    pydantic = pytest.importorskip("pydantic")

    class Colour(pydantic.BaseModel):
        name: str
        share: float = pydantic.Field(ge=0, le=1)

    with served(['{"name": "red", "share": 7}', '{"name": "red", "share": 0.7}']) as service:
        answer = ask(make(kind, service), "Which?", Colour)
    assert answer.value == {"name": "red", "share": 0.7}
    assert "share: maximum is 1" in service.requests[1]["messages"][-1]["content"]


def test_options_are_sent_with_every_call(kind):
    options = {"num_ctx": 8192} if kind == "ollama" else {"top_p": 0.5}
    if kind == "anthropic":
        options = {"stop_sequences": ["END"]}
    with served(["fine", "fine"]) as service:
        llm = make(kind, service, options=options)
        llm.generate("one")
        llm.generate("two")
    for asked in service.requests:
        assert (asked["options"] if kind == "ollama" else asked).items() >= options.items()


def test_options_count_more_than_what_a_call_asks_for():
    with served(["fine", "fine", "fine"]) as service:
        make("ollama", service, options={"temperature": 1.0}).generate("one", temperature=0.2)
        make("openai", service, options={"temperature": 1.0}).generate("two", temperature=0.2)
        make("openai", service, options={"max_completion_tokens": 5}).generate("three", max_tokens=9)
    one, two, three = service.requests
    assert (one["options"]["temperature"], two["temperature"], three["max_completion_tokens"]) == (
        1.0,
        1.0,
        5,
    )


def test_tokens_are_counted_per_answer_and_in_all(kind):
    with served(["no", GOOD, "fine"]) as service:
        llm = make(kind, service)
        assert ask(llm, "Which?", COLOURS).usage == Usage(2, 22, 14)
        llm.generate("Say fine")
    assert llm.usage == Usage(3, 33, 21)
    assert llm.usage.total_tokens == 54


@pytest.mark.parametrize("kind", ["openai", "openrouter", "ollama"])
def test_a_service_that_tells_no_usage_counts_as_calls(kind):
    with served([Says("fine", usage=False)]) as service:
        llm = make(kind, service)
        llm.generate("Say fine")
    assert llm.usage == Usage(1, 0, 0)


# Services that fail.


def test_tries_again_after_failures_that_pass(kind):
    with served([Fails(503), Fails(500), "fine"]) as service:
        assert make(kind, service).generate("Say fine").content == "fine"
    assert len(service.requests) == 3


def test_tries_again_after_too_many_requests(kind):
    with served([Fails(429, headers={"retry-after": "0"}), "fine"]) as service:
        assert make(kind, service).generate("Say fine").content == "fine"
    assert len(service.requests) == 2


def test_tries_again_after_a_connection_closed_midway(kind):
    with served([Fails(0), "fine"]) as service:
        assert make(kind, service).generate("Say fine").content == "fine"
    assert len(service.requests) == 2


def test_gives_up_in_the_end_and_says_where_and_why(kind):
    with served([], Fails(503, {"error": {"message": "overloaded today"}})) as service:
        llm = make(kind, service, max_retries=1)
        with pytest.raises(BackendError, match=r"model small.*overloaded today"):
            llm.generate("Say fine")
    assert len(service.requests) == 2
    assert llm.usage == Usage()


def test_a_reply_slower_than_the_time_out_is_an_error(kind):
    with served([], Fails(200, wait=1.0)) as service:
        llm = make(kind, service, timeout=0.1, max_retries=0)
        with pytest.raises(ModelError, match=r"(?i)time"):
            llm.generate("Say fine")


def test_no_server_at_all_is_an_error(kind):
    with served([]) as service:
        llm = make(kind, service, max_retries=0)
    with pytest.raises(ModelError, match="model small"):
        llm.generate("Say fine")


def test_an_error_of_ours_to_make_is_not_tried_again(kind):
    with served([], Fails(401, {"error": {"message": f"wrong key {KEY}, think again"}})) as service:
        llm = make(kind, service)
        with pytest.raises(ModelError, match="think again") as caught:
            llm.generate("Say fine")
        answer = ask(llm, "Which?", COLOURS)
    assert len(service.requests) == 2
    if kind != "ollama":
        shown = "".join(traceback.format_exception(caught.value)) + repr(llm) + repr(answer)
        assert KEY not in shown
        assert any(KEY in value for value in service.headers[0].values())


def test_a_chat_model_s_key_is_not_told_either():
    with served([], Fails(401, {"error": {"message": f"wrong key {KEY}, think again"}})) as service:
        llm = chat_openai(service)
        with pytest.raises(ModelError, match=r"think again") as caught:
            llm.generate("Say fine")
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_stand_in_for_a_key_garbles_no_message():
    with served([], Fails(401, {"error": {"message": "x is not expected here"}})) as service:
        llm = OpenAIProvider("x", "small", base_url=f"{service.url}/v1")
        with pytest.raises(ModelError, match="x is not expected here"):
            llm.generate("Say fine")


def test_json_that_a_chat_model_cut_off_counts_as_far_as_it_is_complete():
    cut = Says('{"colours": [{"name": "red", "share": 1}, {"name": "blu', stop="length")
    with served([cut, cut]) as service:
        answer = ask(chat_openai(service), "Which?", COLOURS)
    assert answer.value == {"colours": [{"name": "red", "share": 1}]}
    assert answer.usage == Usage(2, 22, 14)


def test_a_key_at_the_end_of_a_long_message_is_not_told_in_part(kind):
    """The key stands where the message is cut; no part of it may stay."""
    if kind == "ollama":
        pytest.skip("it has no key")
    for padding in range(440, 500, 7):
        with served([], Fails(401, {"error": {"message": "x" * padding + KEY}})) as service:
            answer = ask(make(kind, service), "Which?", COLOURS)
        assert KEY[:8] not in answer.problems[0]


@pytest.mark.parametrize(
    "body", ["", "<html>sorry</html>", "[]", "{}", "null", '{"choices": null}', '"text"']
)
def test_a_reply_of_another_shape_is_an_error_not_a_crash(kind, body):
    with served([], Fails(200, body)) as service:
        llm = make(kind, service, max_retries=0)
        with pytest.raises(ModelError, match="model small"):
            llm.generate("Say fine")
        answer = ask(llm, "Which?", COLOURS)
    assert answer.value is None
    assert answer.problems


def test_an_error_inside_a_reply_of_200_is_told():
    with served([{"error": {"message": "the host is down", "code": 502}}]) as service:
        llm = make("openrouter", service)
        with pytest.raises(ModelError, match="the host is down"):
            llm.generate("Say fine")


# Models that decline, think, ramble or stop early.


def test_a_refusal_is_an_error_of_its_own_and_not_asked_again(kind):
    said = [Says(None, refusal="I will not"), Says(None, refusal="I will not")]
    if kind == "ollama":
        pytest.skip("Ollama has no refusals")
    with served(said) as service:
        llm = make(kind, service)
        with pytest.raises(ModelRefused, match="I will not") as caught:
            llm.generate("Say fine")
        answer = ask(llm, "Which?", COLOURS)
    assert caught.value.usage["total_tokens"] == 18
    assert (answer.value, answer.usage) == (None, Usage(1, 11, 7))
    assert "I will not" in answer.problems[0]
    assert llm.usage == Usage(2, 22, 14)


def test_a_filtered_reply_is_a_refusal():
    with served([Says("", stop="content_filter")]) as service, pytest.raises(ModelRefused, match="filtered"):
        make("openai", service).generate("Say fine")


@pytest.mark.parametrize("text", ["", None, "  \n", "<think>so many thoughts"])
def test_a_reply_without_words_is_an_error_and_asked_again_for_json(kind, text):
    with served([Says(text, thinking="hm")] * 2 + [GOOD]) as service:
        llm = make(kind, service)
        with pytest.raises(ModelError, match="empty"):
            llm.generate("Say fine")
        assert ask(llm, "Which?", COLOURS).value == RED


def test_thoughts_are_not_part_of_what_was_said(kind):
    with served([Says("fine", thinking="I should say fine"), "<think>well</think>\n\nfine"]) as service:
        llm = make(kind, service)
        assert llm.generate("Say fine").content == "fine"
        assert llm.generate("Say fine").content == "fine"


def test_text_cut_off_is_given_and_marked(kind):
    with served([Says("it was a dark and", stop="length")]) as service:
        response = make(kind, service).generate("Tell", max_tokens=5)
    assert (response.content, response.truncated) == ("it was a dark and", True)


def test_json_cut_off_is_asked_for_again_with_twice_the_room(kind):
    with served([Says(GOOD[:30], stop="length"), GOOD]) as service:
        answer = ask(make(kind, service), "Which?", COLOURS, max_tokens=50)
    assert (answer.value, answer.problems) == (RED, ())
    limits = [
        asked.get("options", {}).get("num_predict")
        or asked.get("max_completion_tokens")
        or asked.get("max_tokens")
        for asked in service.requests
    ]
    assert limits == [50, 100]


def test_of_json_cut_off_twice_the_complete_items_count(kind):
    cut = Says('{"colours": [{"name": "red", "share": 1}, {"name": "blu', stop="length")
    with served([cut, cut]) as service:
        answer = ask(make(kind, service), "Which?", COLOURS)
    assert answer.value == {"colours": [{"name": "red", "share": 1}]}
    assert "cut off" in answer.problems[0]


# Services that refuse a parameter.

UNSUPPORTED = "Unsupported parameter: '{0}' is not supported with this model."
REFUSALS = {
    "openai": [
        (
            "temperature",
            {
                "error": {
                    "message": "Only the default (1) value is supported.",
                    "param": "temperature",
                    "code": "unsupported_value",
                }
            },
        ),
        (
            "temperature",
            {"object": "error", "message": "temperature: extra fields not permitted", "code": 400},
        ),
        (
            "max_completion_tokens",
            {"error": {"message": UNSUPPORTED.format("max_completion_tokens"), "param": None}},
        ),
        (
            "response_format",
            {"error": {"message": UNSUPPORTED.format("response_format"), "param": "response_format"}},
        ),
        (
            "response_format.type=json_schema",
            {"error": {"message": "json_schema is not available here", "param": None}},
        ),
        ("top_p", {"detail": [{"loc": ["body", "top_p"], "msg": "extra inputs are not permitted"}]}),
    ],
    "anthropic": [
        (
            "temperature",
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "`temperature` is deprecated for this model.",
                },
            },
        ),
        (
            "output_config",
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "output_config: Extra inputs are not permitted",
                },
            },
        ),
    ],
    "ollama": [
        ("think", {"error": '"small" does not support thinking'}),
        (
            "format",
            {"error": "json: cannot unmarshal object into Go struct field ChatRequest.format of type string"},
        ),
        ("options.temperature", {"error": "invalid option: temperature"}),
    ],
}


@pytest.mark.parametrize(
    ("kind", "name", "body"), [(kind, *case) for kind, cases in REFUSALS.items() for case in cases]
)
def test_a_refused_parameter_is_left_out_from_then_on(kind, name, body):
    options = {"top_p": 0.5} if name == "top_p" else {}
    with served([], GOOD, refuses={name: body}) as service:
        llm = make(kind, service, options=options)
        for _ in range(2):
            answer = ask(llm, "Which?", COLOURS, temperature=0.2)
            assert (answer.value, answer.problems, answer.usage.calls) == (RED, (), 1)
        asked = service.requests
    sent = [Endpoint.holds(request, name) for request in asked]
    # Sent until it was refused in all its forms, never after that.
    assert sent == sorted(sent, reverse=True)
    assert (sent[0], sent[-1]) == (True, False)
    assert sent.count(False) == 2


def test_a_limit_refused_under_one_name_goes_under_the_other():
    body = {
        "error": {"message": UNSUPPORTED.format("max_completion_tokens"), "param": "max_completion_tokens"}
    }
    with served([], "fine", refuses={"max_completion_tokens": body}) as service:
        make("openai", service).generate("Say fine", max_tokens=9)
    assert service.requests[-1]["max_tokens"] == 9


def test_without_native_schemas_the_prompt_tells_the_shape(kind):
    names = {"ollama": "format", "anthropic": "output_config"}
    name = names.get(kind, "response_format")
    with served([], GOOD, refuses={name: {"error": {"message": f"{name}: not supported"}}}) as service:
        assert ask(make(kind, service), "Which?", COLOURS).value == RED
    assert name not in service.requests[-1]
    assert '"share"' in service.requests[-1]["messages"][-1]["content"]


def test_a_service_that_ignores_the_schema_is_told_it_from_then_on(kind):
    with served(["Red, I think.", GOOD, GOOD]) as service:
        llm = make(kind, service)
        assert ask(llm, "Which?", COLOURS).usage.calls == 2
        assert ask(llm, "Which?", COLOURS).usage.calls == 1
    assert [request["messages"][-1]["content"].count('"share"') for request in service.requests] == [0, 2, 2]


def test_an_error_that_names_nothing_teaches_nothing(kind):
    too_long = {"error": {"message": "the conversation is too long", "param": "messages"}}
    with served([Fails(400, too_long), GOOD]) as service:
        llm = make(kind, service)
        with pytest.raises(ModelError, match="too long"):
            llm.generate("Say fine", temperature=0.2)
        llm.generate("Say fine", temperature=0.2)
    first, second = service.requests
    assert first == second


def test_what_did_not_help_is_not_remembered(kind):
    """The service names the temperature, yet fails without it as well: the temperature was not the fault."""
    named = {"error": {"message": "something about temperature"}}
    other = {"error": {"message": "no, something else"}}
    with served([Fails(400, named), Fails(400, other), "fine"]) as service:
        llm = make(kind, service)
        with pytest.raises(ModelError, match="something else"):
            llm.generate("Say fine", temperature=0.2)
        llm.generate("Say fine", temperature=0.2)
    assert service.requests[2] == service.requests[0]


# Keys, models and addresses.


def test_keys_and_models_come_from_the_environment(monkeypatch):
    for package in ("openai", "anthropic", "ollama"):
        pytest.importorskip(package)
    for name in ("OPENAI", "ANTHROPIC", "OPENROUTER", "OLLAMA"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.setenv(f"{name}_MODEL", f"{name.lower()}-model")
    for made in (OpenAIProvider(), AnthropicProvider(), OpenRouterProvider(), OllamaProvider()):
        assert made.model == f"{made.service.lower()}-model"
        assert KEY not in repr(made)


def test_addresses_come_from_the_environment(monkeypatch, kind):
    if kind == "openrouter":
        pytest.skip("it has one address")
    with served(["fine"]) as service:
        names = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "ollama": "OLLAMA_HOST"}
        monkeypatch.setenv(names[kind], service.url + ("/v1" if kind == "openai" else ""))
        assert provider_from(f"{kind}:small").generate("Say fine").content == "fine"
    assert service.requests[0]["model"] == "small"


@pytest.mark.parametrize("maker", [OpenAIProvider, AnthropicProvider, OpenRouterProvider])
def test_a_missing_key_is_told_at_once(maker):
    with pytest.raises(InvalidSetting, match=r"no API key: give api_key= or set \w+_API_KEY"):
        maker()


def test_the_constructors_of_0_2_7_work():
    for package in ("openai", "anthropic", "ollama"):
        pytest.importorskip(package)
    assert OpenAIProvider(KEY, "m", "e", "http://127.0.0.1:1/v1", "org", 5.0).model == "m"
    assert AnthropicProvider(api_key=KEY, model="m", base_url=None, timeout=5, max_retries=1).model == "m"
    made = OpenRouterProvider(api_key=KEY, model="m", embedding_model="e", timeout=5, app_name="mine")
    assert made.model == "m"
    assert OllamaProvider(model="llama3", base_url="http://localhost:11434").model == "llama3"
    with pytest.raises(InvalidSetting, match="cache_folder"):
        LocalEmbedder("all-MiniLM-L6-v2", None, "/tmp/models", True)


def test_the_import_paths_of_0_2_7_work():
    program = """
from recollectx.llm import EmbeddingProvider, LLMProvider, LLMResponse
from recollectx.llm.base import EmbeddingProvider, LLMProvider, LLMResponse
from recollectx.llm.providers import AnthropicProvider, CachedEmbedder, LocalEmbedder, OllamaProvider
from recollectx.llm.providers.openrouter import OpenRouterProvider
from recollectx.llm.providers.openai import OpenAIProvider
import sys
print([name for name in ("openai", "anthropic", "ollama", "langchain_core", "httpx") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_openrouter_is_told_the_name_of_the_app():
    with served(["fine"]) as service:
        make("openrouter", service, app_name="a diary").generate("Say fine")
    assert service.headers[0]["x-title"] == "a diary"


def test_ollama_lists_its_models():
    with served([]) as service:
        assert make("ollama", service).list_models() == ["one", "two"]
    with pytest.raises(ModelError):
        make("ollama", service, max_retries=0).list_models()


def test_without_its_package_a_provider_names_the_extra():
    program = """
import sys
for name in ("openai", "anthropic", "ollama", "langchain_core"):
    sys.modules[name] = None
from recollectx.errors import MissingExtra
from recollectx.llm import providers
for name, given in [
    ("OpenAIProvider", {"api_key": "k"}),
    ("OpenRouterProvider", {"api_key": "k"}),
    ("AnthropicProvider", {"api_key": "k"}),
    ("OllamaProvider", {}),
    ("LangChainProvider", {"llm": object()}),
]:
    try:
        getattr(providers, name)(**given)
    except MissingExtra as error:
        print(str(error).rpartition("pip install ")[2])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    extras = ["openai", "openai", "anthropic", "ollama", "langchain"]
    assert done.stdout.split("\n")[:-1] == [f"'recollectx[{extra}]'" for extra in extras]


class Counting:
    """A provider of 0.2.7's embedding seam."""

    dimension = 2

    def __init__(self):
        self.asked: list[str] = []

    def embed(self, text):
        return self.embed_batch([text])[0]

    def embed_batch(self, texts):
        self.asked += texts
        return [[float(len(text)), 1.0] for text in texts]


def test_cached_embedder_asks_once_for_each_text_it_keeps():
    provider = Counting()
    cached = CachedEmbedder(provider, max_size=2)
    assert cached.embed_batch(["a", "bb", "a"]) == [[1.0, 1.0], [2.0, 1.0], [1.0, 1.0]]
    assert cached.embed("bb") == [2.0, 1.0]
    assert provider.asked == ["a", "bb"]
    cached.embed_batch(["ccc", "bb"])
    cached.embed("a")
    assert provider.asked == ["a", "bb", "ccc", "a"]
    assert (cached.dimension, cached.embed_batch([])) == (2, [])


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_providers_embed_as_in_0_2_7(kind):
    rows = {"object": "list", "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    rows |= {
        "data": [{"object": "embedding", "index": 0, "embedding": [3.0, 4.0]}],
        "embeddings": [[3.0, 4.0]],
    }
    with served([], rows) as service:
        llm = make(kind, service, embedding_model="vectors")
        assert llm.embed("tea") == pytest.approx([0.6, 0.8])
        assert llm.dimension == 2
    assert service.requests[0]["model"] == "vectors"


# How a provider is named.


def test_provider_from_takes_what_there_is():
    own = Plain(["fine"])
    assert provider_from(own) is own
    assert provider_from(lambda prompt: "fine").generate("Say fine").content == "fine"
    for nonsense in ("gemini", "", 7, None, OllamaProvider, []):
        with pytest.raises(InvalidSetting):
            provider_from(nonsense)


def test_provider_from_takes_a_chat_model():
    fakes = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    llm = provider_from(fakes.GenericFakeChatModel(messages=iter(["fine", GOOD])))
    assert llm.generate("Say fine", "Be short", 0.3, 10).content == "fine"
    # This one cannot be held to a schema, which is learnt without a call.
    assert ask(llm, "Which?", COLOURS).value == RED
    assert llm.usage.calls == 2
