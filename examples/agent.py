"""An agent answers from an ingested conversation, through a chat model on any OpenAI-compatible server.

pip install "recollectx[agents]" langchain-openai; OPENAI_BASE_URL names the server (default: Ollama's), MODEL the model.
"""

import os
import tempfile
from pathlib import Path

from recollectx import Memory
from recollectx.agents import MemoryAgent
from recollectx.errors import ModelError

URL = os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1")
MODEL = os.environ.get("MODEL", "qwen3:4b")
TALK = [
    ("Noor", "I work as a beekeeper, and I live in Tartu.", "2025-04-06T08:00:00Z"),
    ("Emil", "I am allergic to pollen, so I will visit you in winter.", "2025-04-06T08:02:00Z"),
    ("Noor", "I moved to Haapsalu. The bees like the sea air!", "2025-11-15T17:30:00Z"),
]

with tempfile.TemporaryDirectory() as folder, Memory.open(Path(folder) / "bees.db") as memory:
    memory.remember([{"speaker": who, "text": text, "time": time} for who, text, time in TALK])
    for claim in memory.retrieve(type="semantic"):
        print("known:", claim.text)
    try:
        from langchain_openai import ChatOpenAI

        key = os.environ.get("OPENAI_API_KEY", "none")
        agent = MemoryAgent(memory, ChatOpenAI(model=MODEL, base_url=URL, api_key=key, max_retries=0))
        for step in agent.stream("Where should Emil go to visit Noor, and what must he mind there?"):
            if step.kind != "words":
                print(f"{step.kind}: {step.tool or ''} {step.text}")
        for claim_id in step.response.cited:
            print("rests on:", memory.get(claim_id).text)
    except (ImportError, ModelError) as error:
        print(f"No answer, for want of a model at {URL}: {error}")
        print("Start one (ollama run qwen3:4b), or set OPENAI_BASE_URL, OPENAI_API_KEY and MODEL.")
