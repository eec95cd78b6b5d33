"""recollectx: a long-term memory for LLM agents that stores beliefs, not strings."""

from recollectx.aio import AsyncMemory
from recollectx.calibration import Calibration
from recollectx.changes import Action, EraseReceipt, Undone, WriteDecision, WriteResult
from recollectx.claims import (
    Assertion,
    Basis,
    Category,
    Claim,
    EpisodicClaim,
    SemanticClaim,
    Status,
)
from recollectx.deciding import RuleDecider
from recollectx.disputes import OpenDispute
from recollectx.doubt import Dispute
from recollectx.edges import Edge, Relation
from recollectx.errors import RecollectxError
from recollectx.graph.explanation import ExplanationNode, ExplanationResult
from recollectx.memory import Memory
from recollectx.propagation import ConfidenceChangeEvent, LogOdds, PropagationConfig
from recollectx.propagator import ConfidencePropagator
from recollectx.query import ALL_SCOPES, Hit, Query, Recall, Weights
from recollectx.state import AgentState
from recollectx.storage.memory_store import MemoryStore
from recollectx.traces import Trace, TraceExplanation
from recollectx.updater import MemoryUpdater, UpdateResult
from recollectx.what_if import Impact, Move, WhatIf

__version__ = "1.0.0.dev1"

__all__ = [
    "ALL_SCOPES",
    "Action",
    "AgentState",
    "Assertion",
    "AsyncMemory",
    "Basis",
    "Calibration",
    "Category",
    "Claim",
    "ConfidenceChangeEvent",
    "ConfidencePropagator",
    "Dispute",
    "Edge",
    "EpisodicClaim",
    "EraseReceipt",
    "ExplanationNode",
    "ExplanationResult",
    "Hit",
    "Impact",
    "LogOdds",
    "Memory",
    "MemoryStore",
    "MemoryUpdater",
    "Move",
    "OpenDispute",
    "PropagationConfig",
    "Query",
    "Recall",
    "RecollectxError",
    "Relation",
    "RuleDecider",
    "SemanticClaim",
    "Status",
    "Trace",
    "TraceExplanation",
    "Undone",
    "UpdateResult",
    "Weights",
    "WhatIf",
    "WriteDecision",
    "WriteResult",
]
