"""A team's decisions: who said what, what doubts it, and what the memory believes in the end."""

import tempfile
from pathlib import Path

from recollectx import EpisodicClaim, Memory, SemanticClaim

with tempfile.TemporaryDirectory() as folder, Memory.open(Path(folder) / "team.db", scope="team") as memory:
    queue = SemanticClaim(
        subject="orders", predicate="go_through", object="RabbitMQ", confidence=0.7, source="design document"
    )
    outage = EpisodicClaim(
        summary="Orders flowed while RabbitMQ was down", confidence=0.9, source="incident 41"
    )
    config = EpisodicClaim(
        summary="The order service configures only Kafka", confidence=0.8, source="code review"
    )
    memory.store_many([queue, outage, config])
    memory.add_contradiction(outage.id, queue.id)
    memory.add_support(config.id, outage.id)

    belief = memory.get(queue.id)
    print(f"{belief.text}: asserted {belief.prior}, believed {belief.confidence:.2f}")
    for event in memory.explain_confidence_history(queue.id):
        print(f"  {event.old_confidence:.2f} -> {event.new_confidence:.2f} ({event.reason})")
    for node in memory.explain_deep(queue.id).root.contradicted_by:
        print(f"  against it: {node.belief.text}, {node.belief.confidence:.2f}")
        for support in node.supported_by:
            print(f"    which is supported by: {support.belief.text}")
