"""Explanations drawn: a claim with who says it, what bears on it and how its confidence moved."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from recollectx.claims import CURRENT, Assertion, Claim, Status
from recollectx.cli.explaining import Explained
from recollectx.cli.render import day, number, plain, short, source
from recollectx.edges import Relation
from recollectx.graph.attribution import Witness
from recollectx.graph.explanation import ExplanationNode
from recollectx.graph.pictures import signed
from recollectx.memory import ConfidenceChangeEvent

LATEST = 5
SUPERSEDES = "supersedes"

_BEARS: dict[str, tuple[str, str]] = {
    Relation.SUPPORTS: ("+ supported by", "green"),
    Relation.CONTRADICTS: ("− contradicted by", "red"),
    Relation.DERIVES: ("derived from", "blue"),
    Relation.CORRECTS: ("corrected by", "yellow"),
    Relation.SUPERSEDES: ("superseded by", "yellow"),
}
_ORDER = list(_BEARS)


def explanation_tree(found: Explained, *, hints: bool = True) -> Tree:
    """The tree of one claim, with the latest moves of its confidence. hints: say what was left out."""
    tree = Tree(_headline(found.claim), guide_style="dim")
    witnesses = {witness.source: witness for witness in found.deep.root.witnesses}
    for assertion in found.direct["assertions"]:
        tree.add(_asserted(assertion, witnesses.get(assertion.source)))
    _grow(tree, found.deep.root)
    for old in found.superseded:
        tree.add(_about(old, SUPERSEDES, "yellow"))
    if found.deep.truncated and hints:
        tree.add(Text("more bears on these than is shown; see --depth", style="dim"))
    if found.deep.cycle_detected and hints:
        tree.add(Text("some of these claims rest on each other in a circle", style="dim"))
    hidden = max(0, len(found.events) - LATEST)
    moves = tree.add(Text("confidence", style="bold"))
    moves.add(Text.assemble(f"{day(found.first[1])} formed at ", number(found.first[0])))
    if hidden:
        moves.add(Text(f"{hidden:,} moves; `history` has them all", style="dim"))
    for event in found.events[hidden:]:
        moves.add(_move(event))
    return tree


def _headline(claim: Claim) -> Text:
    line = Text(plain(claim.text), style="bold")
    facts = [str(claim.status), claim.type, *([str(claim.category)] if claim.category else [])]
    line.append("\nconfidence ", style="not bold")
    line.append_text(number(claim.confidence))
    if claim.prior is not None:
        line.append(f" of {claim.prior:.2f} asserted", style="not bold")
    line.append(f" · {' · '.join(facts)} · ", style="not bold dim")
    line.append(short(claim.id), style="not bold cyan")
    return line


def _asserted(assertion: Assertion, witness: Witness | None) -> Text:
    who = "nobody named" if assertion.source is None else plain(assertion.source)
    how = ("asserted by ", "blue") if witness is None else ("+ also asserted by ", "green")
    line = Text.assemble(how, who, f", {day(assertion.said_at)}, ")
    line.append_text(number(assertion.confidence))
    quoted = assertion.span or "; ".join(assertion.evidence)
    if quoted:
        line.append(f": “{plain(quoted)}”", style="italic")
    if assertion.times > 1:
        line.append(f" ({assertion.times} times)", style="dim")
    if witness is not None:
        line.append_text(_amount(witness.amount, witness.why_not))
    return line


def _amount(amount: float | None, why_not: str) -> Text:
    """What an edge or a witness adds, in log-odds."""
    if why_not:
        return Text(f" not counted: {plain(why_not)}", style="dim")
    return Text("" if amount is None else f" {signed(amount)}", style="bold")


def _about(claim: Claim, how: str, style: str) -> Text:
    words = f"“{plain(claim.text)}”" if claim.type == "episodic" else plain(claim.text)
    line = Text.assemble((f"{how} ", style), words, " ")
    line.append_text(number(claim.confidence))
    line.append(f" {source(claim)}, {day(claim.created_at)} ", style="dim")
    line.append(short(claim.id), style="cyan")
    if claim.status not in CURRENT and not (how == SUPERSEDES and claim.status == Status.SUPERSEDED):
        line.append(f" {claim.status}", style="magenta")
    return line


def _grow(tree: Tree, node: ExplanationNode) -> None:
    def place(child: ExplanationNode) -> int:
        return _ORDER.index(child.relation) if child.relation in _BEARS else len(_ORDER)

    for child in sorted(node.children, key=place):
        relation = str(child.relation)
        how, style = _BEARS.get(relation, (f"{plain(relation)} from", "blue"))
        label = _about(child.belief, how, style)
        label.append_text(_amount(child.contribution, child.why_not))
        if child.repeated:
            label.append(" see above", style="dim")
        _grow(tree.add(label), child)


def _move(event: ConfidenceChangeEvent) -> Text:
    line = Text(f"{day(event.timestamp)} ")
    line.append_text(number(event.old_confidence))
    line.append(" → ")
    line.append_text(number(event.new_confidence))
    line.append(f" {plain(event.reason)}")
    if event.caused_by_id is not None:
        line.append(" by ", style="dim").append(short(event.caused_by_id), style="cyan")
    return line


def history_table(found: Explained) -> RenderableType:
    """How a claim began and each move of its confidence, oldest first."""
    claim = found.claim
    table = Table.grid(padding=(0, 2))
    table.add_row(day(found.first[1]), "", "", number(found.first[0]), f"formed, from {source(claim)}")
    for event in found.events:
        cause = Text(plain(event.reason))
        if event.caused_by_id is not None:
            cause.append(" by ", style="dim").append(short(event.caused_by_id), style="cyan")
        table.add_row(
            day(event.timestamp), number(event.old_confidence), "→", number(event.new_confidence), cause
        )
    if claim.status != Status.ACTIVE:
        by = ", ".join(map(short, found.direct["superseded_by"]))
        table.add_row("now", "", "", number(claim.confidence), f"{claim.status}{f' by {by}' if by else ''}")
    return Group(_headline(claim), table)
