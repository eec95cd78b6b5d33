"""`reembed`: a vector for every wording by the embedder of this run, old wordings included."""

import click
from rich.text import Text

from recollectx.cli.terminal import Command, Failure, Terminal, pass_terminal, progress_bar
from recollectx.embeddings import token_embedder
from recollectx.opening import chosen_embedder
from recollectx.storage.embedding import Embedding
from recollectx.storage.token_vectors import TokenVectors


@click.command(cls=Command)
@click.option(
    "--embedder",
    help="local, hash, openai[:MODEL], ollama[:MODEL], sentence-transformers[:MODEL]. Default: what is configured.",
)
@click.option(
    "--token-vectors",
    is_flag=True,
    help="Also a vector of every token, to compare the first hits word by word; eight times the disk.",
)
@pass_terminal
def reembed(terminal: Terminal, embedder: str | None, token_vectors: bool) -> None:
    """Embed every wording with this model; stopped half-way, it goes on where it was.

    Vectors of another model are let go first. Until all are made again, recall finds the rest by words.
    """
    model = chosen_embedder(embedder or terminal.settings["embedder"], None)
    if model is None:
        raise Failure(
            "no embedder is configured or installed; pip install 'recollectx[local]', or name one with --embedder",
            terminal,
        )
    offered = token_embedder(model)
    if token_vectors and offered is None:
        raise Failure(f"{model.name} gives no token vectors; sentence-transformers does", terminal)
    with terminal.open(words_only=True) as memory:
        storage = memory.storage
        embedding = Embedding(storage.database, model, storage.apply)
        embedding.start_over()
        with storage.reader() as reader:
            waiting = reader.count_unembedded()
        with progress_bar(terminal) as progress:
            task = progress.add_task("embedding", total=waiting)
            done = embedding.embed_waiting(lambda count: progress.advance(task, count))
            if token_vectors and offered is not None:
                tokens = TokenVectors(storage.database, offered, storage.apply)
                task = progress.add_task("token vectors", total=tokens.count_waiting())
                tokens.embed_waiting(lambda count: progress.advance(task, count))
    terminal.show(
        {"embedder": model.name, "dimension": model.dimension, "embedded": done},
        Text(f"{done:,} wordings embedded with {model.name}, {model.dimension} numbers each"),
    )
