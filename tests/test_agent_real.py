"""The agent through a real client and a real model, far too small to be right: that a run comes to its end counts."""

import asyncio

import pytest

from recollectx.agents import MemoryAgent
from tests.small_model import serve_small_model

pytestmark = pytest.mark.real_model


@pytest.fixture(scope="module")
def chat_model():
    package = pytest.importorskip("langchain_openai")
    url = f"{serve_small_model()}/v1"
    return package.ChatOpenAI(model="small", api_key="x", base_url=url, max_tokens=30, stream_usage=True)


@pytest.mark.parametrize("way", ["invoke", "async", "stream"])
def test_it_answers_from_what_the_search_found(memory, chat_model, way):
    memory.remember("I live in Bergen.", source="Mira", at="2025-03-02")
    agent = MemoryAgent(memory, chat_model, max_steps=2, search_first=True)
    question = "Where does Mira live?"
    if way == "invoke":
        response = agent.answer(question)
    elif way == "async":
        response = asyncio.run(agent.aanswer(question))
    else:
        response = [*agent.stream(question)][-1].response
    assert response.answer
    assert response.memories_used == memory.recall(question).claims
    assert response.usage.completion_tokens > 0
    assert memory.traces.list()[0].response == response.answer
