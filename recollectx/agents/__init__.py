"""Agents that answer from a memory. Importing this imports no vendor's package; an agent's constructor does."""

from recollectx.agents.answers import AgentResponse, AgentStep, StepKind
from recollectx.agents.memory_agent import MemoryAgent
from recollectx.agents.tools import get_memory_tools

__all__ = ["AgentResponse", "AgentStep", "MemoryAgent", "StepKind", "get_memory_tools"]
