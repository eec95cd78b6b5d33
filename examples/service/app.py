"""A memory behind HTTP: one store, a scope for each team, on whatever database and index the configuration names.

RECOLLECTX_DB=team.db python examples/service/app.py
RECOLLECTX_DB=postgresql://… RECOLLECTX_VECTORS=qdrant://host:6333/claims python examples/service/app.py

curl 'localhost:8765/claims?team=kitchen' -d '{"text": "The oven runs hot.", "source": "Mara"}'
curl 'localhost:8765/recall?team=kitchen&q=oven'
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from recollectx import AsyncMemory
from recollectx.errors import InvalidQuery, NotFound, RecollectxError
from recollectx.graph.pictures import to_dict

PORT = 8765


def application(settings: Mapping[str, Any] | None = None) -> Starlette:
    """The service. settings: as Memory.from_config takes them; the rest comes from the environment."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with await AsyncMemory.from_config(settings) as memory:
            app.state.memory = memory
            yield

    routes = [
        Route("/claims", remember, methods=["POST"]),
        Route("/claims/{id}", explain),
        Route("/claims/{id}", erase, methods=["DELETE"]),
        Route("/recall", recall),
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={RecollectxError: refused})


def asked(request: Request, name: str) -> str:
    if name not in request.query_params:
        raise InvalidQuery(f"the address names no {name}; add ?{name}=…")
    return request.query_params[name]


def of_team(request: Request) -> AsyncMemory:
    memory: AsyncMemory = request.app.state.memory
    return memory.in_scope(asked(request, "team"))


async def told(request: Request) -> dict[str, Any]:
    """What a request says: a text and perhaps its source."""
    try:
        said = await request.json()
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or "text" not in said:
        raise InvalidQuery('say it as JSON: {"text": "...", "source": "..."}')
    for name, kinds in {"text": str, "source": str | None}.items():
        if not isinstance(said.get(name), kinds):
            raise InvalidQuery(f"{name!r} must be text")
    return said


def count_asked(request: Request, default: int) -> int:
    k = request.query_params.get("k", str(default))
    if not (k.isascii() and k.isdigit() and len(k) < 10):
        raise InvalidQuery(f"k must be a whole number, got {k[:20]!r}")
    return int(k)


async def remember(request: Request) -> JSONResponse:
    said = await told(request)
    results = await of_team(request).remember(said["text"], source=said.get("source"))
    return JSONResponse(
        [{"action": each.action, "id": each.claim_id, "why": each.reason} for each in results]
    )


async def recall(request: Request) -> JSONResponse:
    found = await of_team(request).recall(asked(request, "q"), k=count_asked(request, 10))
    hits = [(hit.score, hit.claim) for hit in found]
    return JSONResponse(
        [
            {"id": claim.id, "text": claim.text, "score": score, "confidence": claim.confidence}
            for score, claim in hits
        ]
    )


async def explain(request: Request) -> JSONResponse:
    claim_id = request.path_params["id"]
    why = await of_team(request).explain_deep(claim_id)
    if why is None:
        raise NotFound(f"team {asked(request, 'team')!r} holds no claim {claim_id!r}")
    return JSONResponse(to_dict(why))


async def erase(request: Request) -> JSONResponse:
    receipt = await of_team(request).erase(request.path_params["id"])
    return JSONResponse({"erased": list(receipt.ids), "pending": receipt.pending})


async def refused(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": str(error)}, status_code=404 if isinstance(error, NotFound) else 400)


if __name__ == "__main__":
    uvicorn.run(application(), host="127.0.0.1", port=int(os.environ.get("PORT", PORT)))
