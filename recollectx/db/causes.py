"""How the causes of a moved confidence are called: by the kind of the change, and the relation of an edge."""

from recollectx.edges import Relation

RECORDED = "recorded"
"""A move that 0.2.7 made and wrote down: its type is the detail of the change, its reason the cause of the tx."""
MOVED_IN = "moved_in"

EDGE_KINDS = frozenset({"link", "unlink"})
EDGE_TYPES = {
    str(Relation.CONTRADICTS): "contradiction",
    str(Relation.SUPPORTS): "support",
    str(Relation.DERIVES): "support",
}
TYPES = {"reinforce": "support"}
WORDS = {
    "link": "{detail} added",
    "unlink": "{detail} removed",
    "reinforce": "asserted again",
    "retract": "a source took it back",
    "retire": "forgotten",
    "restore": "brought back",
    "correct": "corrected: it was never true",
    "undo": "transaction {detail} was taken back",
    "restatus": "now {detail}",
    "trust": "trust in a source changed",
    "configure": "another rule of belief",
    "erase": "a claim was erased",
    MOVED_IN: "solved anew when it was moved in from 0.2.7",
}
FURTHER_UP = ", further up"
OTHERWISE = "manual"
