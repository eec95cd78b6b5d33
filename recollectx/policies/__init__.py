"""Write policies: which claims may enter a memory."""

from recollectx.policies.base import AndPolicy, Decision, NotPolicy, OrPolicy, Policy, decide
from recollectx.policies.static import MinConfidence, MinEvidence

__all__ = [
    "AndPolicy",
    "Decision",
    "MinConfidence",
    "MinEvidence",
    "NotPolicy",
    "OrPolicy",
    "Policy",
    "decide",
]
