"""A language model on this machine reads a conversation; what it cannot prove by a quote is left out and told.

Start any server that speaks OpenAI's protocol (llama.cpp, vLLM, LM Studio, Ollama) and name it in OPENAI_BASE_URL, its
model in OPENAI_MODEL. Without one the phrase extractor steps in, and the result says so.
"""

import os

from recollectx import Memory
from recollectx.extractors import LLMExtractor, PhraseExtractor
from recollectx.llm.providers import OpenAIProvider

llm = OpenAIProvider(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1"),
    model=os.environ.get("OPENAI_MODEL", "local"),
    max_retries=0,
)
TURNS = [
    ("user", "I live in Ghent, and since last autumn I've kept bees on the roof."),
    ("assistant", "How lovely! You could sell the honey at the market in Bruges."),
    ("user", "Maybe. I'm allergic to hazelnuts, so no nougat stall next to mine."),
]

with Memory.open(":memory:", extractor=LLMExtractor(llm, fallback=PhraseExtractor())) as memory:
    told = memory.remember(
        [{"role": role, "content": text} for role, text in TURNS], at="2024-04-08T10:00:00Z"
    )
    for claim in memory.retrieve(type="semantic"):
        print(f"{claim.text}  ({claim.confidence:.2f}, {claim.source}: {claim.evidence[0]!r})")

    # What an answer was made with is named, so that it does not come back as something the user said.
    recall = memory.recall("What can the user not eat?", k=3)
    reply = f"Keep in mind: {recall.hits[0].claim.text}."
    told += memory.remember([{"role": "assistant", "content": reply}], shown=recall)
    print(
        f"{memory.count(type='semantic')} facts, {told.usage.calls} call(s), {told.usage.total_tokens} tokens"
    )
    for problem in told.problems:
        print("-", problem)
