"""The whole way to a real model and back. It is far too small to be right; that it is understood is what counts."""

import pytest

from recollectx.llm import ask
from recollectx.llm.providers import AnthropicProvider, LangChainProvider, OpenAIProvider
from recollectx.llm.schemas import faults
from tests.small_model import serve_small_model

pytestmark = pytest.mark.real_model

SCHEMA = {
    "title": "fact",
    "type": "object",
    "properties": {
        "subject": {"type": "string", "maxLength": 20},
        "certain": {"type": "boolean"},
    },
    "required": ["subject", "certain"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def url() -> str:
    return serve_small_model()


@pytest.fixture(params=["openai", "anthropic", "langchain"])
def llm(request, url):
    if request.param == "anthropic":
        pytest.importorskip("anthropic")
        return AnthropicProvider(base_url=url, model="small")
    pytest.importorskip("openai")
    if request.param == "openai":
        return OpenAIProvider(base_url=f"{url}/v1", model="small")
    package = pytest.importorskip("langchain_openai")
    return LangChainProvider(
        package.ChatOpenAI(model="small", api_key="x", base_url=f"{url}/v1", max_tokens=80)
    )


def test_it_says_something_and_its_tokens_are_counted(llm):
    response = llm.generate("Say hello.", max_tokens=20)
    assert response.content
    assert 0 < response.usage["completion_tokens"] <= 80
    assert llm.usage.calls == 1
    assert llm.usage.completion_tokens == response.usage["completion_tokens"]


def test_its_reply_fits_the_schema_or_is_said_not_to(llm):
    answer = ask(llm, "Ana lives in Porto. Who lives where?", SCHEMA, temperature=0.0, max_tokens=60)
    assert answer.usage.completion_tokens > 0
    assert 1 <= answer.usage.calls <= 2
    assert answer.fits == (answer.value is not None and not faults(answer.value, SCHEMA))
    if not isinstance(llm, AnthropicProvider):
        # llama.cpp holds a model to a schema by grammar when it is asked as OpenAI is.
        assert answer.fits, answer


def test_a_prompt_longer_than_its_context_is_an_error_that_says_so(llm):
    answer = ask(llm, "tea " * 6000, SCHEMA, max_tokens=20)
    assert answer.value is None
    assert "context" in answer.problems[0]
