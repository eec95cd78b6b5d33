"""The models of many makers through OpenRouter, which speaks OpenAI's protocol."""

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from recollectx.errors import InvalidSetting
from recollectx.llm.providers.openai import OpenAIProvider

URL = "https://openrouter.ai/api/v1"


class OpenRouterProvider(OpenAIProvider):
    """Any model that OpenRouter offers; needs the extra `openai`, whose client it uses.

    api_key: else OPENROUTER_API_KEY from the environment.  model: else OPENROUTER_MODEL, else openai/gpt-5.4-mini.
    app_name: how the calls are named in OpenRouter's statistics.  The rest is as in OpenAIProvider.
    """

    SERVICE: ClassVar[str] = "OpenRouter"

    def __init__(
        self,
        api_key: str | None = None,
        model: str | None = None,
        embedding_model: str = "openai/text-embedding-3-small",
        timeout: float = 60.0,
        app_name: str | None = None,
        *,
        base_url: str = URL,
        max_retries: int = 2,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        key = api_key or os.environ.get("OPENROUTER_API_KEY")
        if not key:
            raise InvalidSetting("no API key: give api_key= or set OPENROUTER_API_KEY")
        super().__init__(
            key,
            model or os.environ.get("OPENROUTER_MODEL") or "openai/gpt-5.4-mini",
            embedding_model,
            base_url,
            timeout=timeout,
            max_retries=max_retries,
            options=options,
            default_headers={"X-Title": app_name} if app_name else None,
        )
