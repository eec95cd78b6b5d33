"""Commands that read: recall, list, explain, history."""

from typing import Any

import click
from rich.text import Text

from recollectx.cli.documents import claim_document, hit_document
from recollectx.cli.explaining import explained
from recollectx.cli.parameters import asked, filters, whole_id
from recollectx.cli.render import hit_table
from recollectx.cli.terminal import Command, Terminal, pass_terminal
from recollectx.cli.trees import explanation_tree, history_table
from recollectx.graph.pictures import to_dot, to_mermaid
from recollectx.query import MAX_K, Query

PICTURES = {"dot": to_dot, "mermaid": to_mermaid}
NOTHING = Text("No belief fits", style="yellow")


@click.command(cls=Command)
@click.argument("question", nargs=-1, required=True)
@click.option("-k", type=click.IntRange(1, MAX_K), default=10, help="How many at most. Default: 10.")
@click.option("-v", "--verbose", is_flag=True, help="Show what each score is made of.")
@filters
@pass_terminal
def recall(terminal: Terminal, /, question: tuple[str, ...], k: int, verbose: bool, **given: Any) -> None:
    """What the memory knows about a question, best first."""
    words = " ".join(question)
    with terminal.open() as memory:
        found = memory.storage.recall(Query(words, k=k, **asked(terminal.scope, given)))
    hits = found.hits
    document = {
        "question": words,
        "relevance": found.relevance,
        "nothing_fits": found.nothing_fits,
        "hits": [hit_document(hit, rank) for rank, hit in enumerate(hits, 1)],
    }
    table = hit_table(hits, wide=terminal.wide, first=1, scored=True, parts=verbose)
    terminal.show(document, table if hits else NOTHING)
    if hits and found.nothing_fits and not terminal.as_json:
        terminal.note("none of these fits the question well; the answer may not be known")


@click.command("list", cls=Command)
@click.option("--limit", type=click.IntRange(1, MAX_K), default=50, help="How many at most. Default: 50.")
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to skip.")
@filters
@pass_terminal
def list_(terminal: Terminal, /, limit: int, offset: int, **given: Any) -> None:
    """What the memory holds, newest first."""
    with terminal.open() as memory:
        query = Query(None, k=limit, offset=offset, **asked(terminal.scope, given))
        hits = memory.storage.recall(query).hits
    claims = [{**claim_document(hit.claim), "disputed_by": list(hit.disputed_by)} for hit in hits]
    table = hit_table(hits, wide=terminal.wide, first=offset + 1, scored=False)
    terminal.show({"limit": limit, "offset": offset, "claims": claims}, table if hits else NOTHING)
    if len(hits) == limit and not terminal.as_json:
        terminal.note(f"there may be more: --offset {offset + limit}")


@click.command(cls=Command)
@click.argument("claim_id", metavar="ID")
@click.option("--depth", type=click.IntRange(0, 50), default=3, help="How far to follow. Default: 3.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["tree", *PICTURES]),
    default="tree",
    help="A tree, or a picture's source.",
)
@pass_terminal
def explain(terminal: Terminal, claim_id: str, depth: int, form: str) -> None:
    """Why a claim is believed.

    Who says it, what bears on it and how much that adds (in log-odds), and the latest moves of its confidence.
    """
    with terminal.open() as memory:
        found = explained(memory, whole_id(memory, claim_id), depth=depth)
    if form in PICTURES and not terminal.as_json:
        click.echo(PICTURES[form](found.deep), nl=False)
    else:
        terminal.show(found.document(), explanation_tree(found))


@click.command(cls=Command)
@click.argument("claim_id", metavar="ID")
@pass_terminal
def history(terminal: Terminal, claim_id: str) -> None:
    """How a claim was formed, and each move since."""
    with terminal.open() as memory:
        found = explained(memory, whole_id(memory, claim_id), depth=0)
    told = found.document()
    kept = ("formed", "moves", "assertions", "superseded_by")
    document = {"claim": told["belief"], **{name: told[name] for name in kept}}
    terminal.show(document, history_table(found))
