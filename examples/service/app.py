"""A memory behind HTTP: one store, a scope for each team, on whatever database and index the configuration names.

RECOLLECTX_DB=team.db python examples/service/app.py
RECOLLECTX_DB=postgresql://… RECOLLECTX_VECTORS=qdrant://host:6333/claims python examples/service/app.py

curl -X POST localhost:8765/kitchen/claims -d '{"text": "The oven runs hot.", "source": "Mara"}'
curl 'localhost:8765/kitchen/recall?q=oven'
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from recollectx import AsyncMemory
from recollectx.errors import NotFound, RecollectxError

PORT = 8765


def application(**settings: Any) -> Starlette:
    """The service. settings: as Memory.from_config takes them; the rest comes from the environment."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with await AsyncMemory.from_config(**settings) as memory:
            app.state.memory = memory
            yield

    routes = [
        Route("/{team}/claims", remember, methods=["POST"]),
        Route("/{team}/claims/{id}", explain),
        Route("/{team}/claims/{id}", erase, methods=["DELETE"]),
        Route("/{team}/recall", recall),
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={RecollectxError: refused})


def of_team(request: Request) -> AsyncMemory:
    memory: AsyncMemory = request.app.state.memory
    return memory.in_scope(request.path_params["team"])


async def remember(request: Request) -> JSONResponse:
    told = await request.json()
    results = await of_team(request).remember(told["text"], source=told.get("source"))
    return JSONResponse(
        [{"action": each.action, "id": each.claim_id, "why": each.reason} for each in results]
    )


async def recall(request: Request) -> JSONResponse:
    k = int(request.query_params.get("k", 10))
    found = await of_team(request).recall(request.query_params["q"], k=k)
    return JSONResponse(
        [
            {
                "id": hit.claim.id,
                "text": hit.claim.text,
                "score": hit.score,
                "confidence": hit.claim.confidence,
            }
            for hit in found
        ]
    )


async def explain(request: Request) -> JSONResponse:
    why = await of_team(request).explain_deep(request.path_params["id"])
    if why is None:
        raise NotFound(f"team {request.path_params['team']!r} holds no claim {request.path_params['id']!r}")
    return JSONResponse(why.to_dict())


async def erase(request: Request) -> JSONResponse:
    receipt = await of_team(request).erase(request.path_params["id"])
    return JSONResponse({"erased": list(receipt.ids), "pending": receipt.pending})


async def refused(_: Request, error: Exception) -> JSONResponse:
    status = 404 if isinstance(error, NotFound) else 400
    return JSONResponse({"error": str(error)}, status_code=status)


if __name__ == "__main__":
    uvicorn.run(application(), host="127.0.0.1", port=int(os.environ.get("PORT", PORT)))
