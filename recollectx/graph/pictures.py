"""Pictures of an explanation: a dict for JSON, Graphviz DOT and Mermaid.

What a claim says is data: in a label nothing of it can end the label, open another element or give a command.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from textwrap import wrap
from typing import Any

from recollectx.claims import CURRENT, Claim
from recollectx.edges import Relation
from recollectx.graph.explanation import ExplanationNode, ExplanationResult

LONGEST, WIDEST = 80, 30
"""A text is cut at so many characters, and its lines broken at so many."""
_CONFIDENT, _DOUBTFUL = 0.7, 0.4
_FILLS = {"confident": "#d5f0d5", "unsure": "#fbf0c8", "doubtful": "#f8d4d0", "unused": "#e8e8e8"}
_COLOURS: dict[str, str] = {
    Relation.SUPPORTS: "#2e7d32",
    Relation.DERIVES: "#1565c0",
    Relation.CONTRADICTS: "#c62828",
}
_OTHER = "#616161"
_ESCAPED = {character: f"#{ord(character)};" for character in "\"'`<>&#;{}[]()|\\%*_~$"}
_MORE = "more is not shown"


def signed(amount: float) -> str:
    """Log-odds with their sign, two digits."""
    return f"{amount:+.2f}".replace("-", "−")


def brief(claim: Claim) -> dict[str, Any]:
    """A claim in the fields a reader needs to know it."""
    return {
        "id": claim.id,
        "text": claim.text,
        "confidence": claim.confidence,
        "status": str(claim.status),
        "source": claim.source,
    }


def to_dict(found: ExplanationResult, claim: Callable[[Claim], dict[str, Any]] = brief) -> dict[str, Any]:
    """The whole explanation as JSON. claim: how a claim is written."""
    return {
        "tree": node_dict(found.root, claim),
        "max_depth_reached": found.max_depth_reached,
        "total_nodes": found.total_nodes,
        "cycle_detected": found.cycle_detected,
        "truncated": found.truncated,
    }


def node_dict(root: ExplanationNode, claim: Callable[[Claim], dict[str, Any]] = brief) -> dict[str, Any]:
    """A claim and, nested, what bears on it."""
    top: list[dict[str, Any]] = []
    # Not by recursion: an explanation may be deeper than the interpreter's stack.
    waiting = [(root, top)]
    while waiting:
        node, place = waiting.pop()
        children: list[dict[str, Any]] = []
        place.append(
            {
                "relation": node.relation,
                "repeated": node.repeated,
                "contribution": node.contribution,
                "counted": node.counted,
                "why_not": node.why_not,
                "start": node.start,
                "x": node.x,
                "returned": node.returned,
                "whole": node.whole,
                "witnesses": [asdict(witness) for witness in node.witnesses],
                "claim": claim(node.belief),
                "children": children,
            }
        )
        waiting += [(child, children) for child in reversed(node.children)]
    return top[0]


def to_dot(found: ExplanationResult) -> str:
    """The explanation in Graphviz DOT: a box for each claim, filled by its confidence, an arrow for each edge."""
    claims, edges = _parts(found)
    lines = ["digraph explanation {", "  rankdir=RL;", '  node [shape=box, style="rounded,filled"];']
    for number, claim in enumerate(claims):
        kind = _kind(claim)
        dashed = ', style="rounded,filled,dashed"' if kind == "unused" else ""
        bold = ", penwidth=2" if number == 0 else ""
        label = _dot([*_lines(_cut(claim.text)), _numbers(claim)])
        lines.append(f'  n{number} [label="{label}", fillcolor="{_FILLS[kind]}"{dashed}{bold}];')
    for src, dst, node in edges:
        style = "solid" if node.counted else "dashed"
        arrow = f'color="{_COLOURS.get(str(node.relation), _OTHER)}", style={style}'
        lines.append(f'  n{src} -> n{dst} [label="{_dot(_caption(node))}", {arrow}];')
    if found.truncated:
        lines.append(f'  more [label="{_MORE}", fillcolor="white", style="rounded,filled,dashed"];')
        lines += [f'  more -> n{dst} [color="{_OTHER}", style=dashed];' for dst in _partial(found, claims)]
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(found: ExplanationResult) -> str:
    """The explanation as a Mermaid flowchart: a box for each claim, coloured by confidence, an arrow for each edge."""
    claims, edges = _parts(found)
    lines = ["flowchart RL"]
    for number, claim in enumerate(claims):
        label = _mermaid([*_lines(_cut(claim.text)), _numbers(claim)])
        lines.append(f'  n{number}["{label}"]:::{_kind(claim)}')
    for place, (src, dst, node) in enumerate(edges):
        arrow = "-->" if node.counted else "-.->"
        lines.append(f'  n{src} {arrow}|"{_mermaid(_caption(node))}"| n{dst}')
        lines.append(f"  linkStyle {place} stroke:{_COLOURS.get(str(node.relation), _OTHER)}")
    lines += [f"  classDef {kind} fill:{fill},color:#222" for kind, fill in _FILLS.items()]
    if found.truncated:
        lines += [f'  more["{_MORE}"]:::cut', "  classDef cut fill:#fff,color:#222,stroke-dasharray:4"]
        lines += [f"  more -.-> n{dst}" for dst in _partial(found, claims)]
    return "\n".join(lines) + "\n"


def _parts(found: ExplanationResult) -> tuple[list[Claim], list[tuple[int, int, ExplanationNode]]]:
    """The claims, the explained one first, and edges (from, onto, the node that came by it) between their numbers."""
    numbers: dict[str, int] = {}
    claims: list[Claim] = []
    for node in _nodes(found.root):
        if node.belief.id not in numbers:
            numbers[node.belief.id] = len(claims)
            claims.append(node.belief)
    return claims, [
        (numbers[child.belief.id], numbers[node.belief.id], child)
        for node in _nodes(found.root)
        for child in node.children
    ]


def _partial(found: ExplanationResult, claims: Sequence[Claim]) -> list[int]:
    """The numbers of the claims on which more bears than is shown."""
    cut = {node.belief.id for node in _nodes(found.root) if not (node.whole or node.repeated)}
    return [number for number, claim in enumerate(claims) if claim.id in cut]


def _nodes(root: ExplanationNode) -> Iterator[ExplanationNode]:
    level: Sequence[ExplanationNode] = (root,)
    while level:
        yield from level
        level = [child for node in level for child in node.children]


def _kind(claim: Claim) -> str:
    if claim.status not in CURRENT:
        return "unused"
    if claim.confidence >= _CONFIDENT:
        return "confident"
    return "unsure" if claim.confidence >= _DOUBTFUL else "doubtful"


def _numbers(claim: Claim) -> str:
    return f"{claim.confidence:.2f}" + ("" if claim.status in CURRENT else f", {claim.status}")


def _caption(node: ExplanationNode) -> list[str]:
    relation = _cut(str(node.relation))
    if node.counted:
        return _lines(f"{relation} {signed(node.contribution or 0.0)}")
    # The reason may begin with the relation, which is told already.
    return _lines(f"{relation} not counted: {_line(node.why_not.removeprefix(f'{node.relation} '))}")


def _line(text: str) -> str:
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def _cut(text: str) -> str:
    line = _line(text)
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _lines(line: str) -> list[str]:
    return wrap(line, WIDEST)


def _dot(lines: Iterable[str]) -> str:
    # Graphviz reads entities in a label: an ampersand is written as one.
    escaped = (line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return "\\n".join(escaped)


def _mermaid(lines: Iterable[str]) -> str:
    return "<br/>".join("".join(_ESCAPED.get(each, each) for each in line) for line in lines)
