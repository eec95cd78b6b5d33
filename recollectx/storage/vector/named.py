"""Vector indexes by name, as configuration gives them.

    exact                               in this process, from the database; the default
    faiss                               in this process, by FAISS;  faiss:///folder/index keeps a file of its own
    qdrant://host:6333/collection       a Qdrant server;  qdrants:// speaks TLS;  qdrant:///folder is a local one
    pgvector                            beside the claims, in their PostgreSQL database
    pinecone://index                    Pinecone;  ?host=… names the index's address

Other packages add schemes by entry points of the group "recollectx.vectors", each a function of a Place. Keys never
stand in a name: they come as `api_key`, else QDRANT_API_KEY or PINECONE_API_KEY from the environment.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from recollectx.embeddings.base import Embedder
from recollectx.errors import InvalidSetting
from recollectx.masking import masked
from recollectx.storage.vector.base import VectorBackend
from recollectx.storage.vector.faiss import FAISSBackend

GROUP = "recollectx.vectors"
COLLECTION = "recollectx"
EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Place:
    """What a name says, and what else an index may need. database: the URL of the claims, with its password.

    Its repr shows neither keys nor passwords.
    """

    name: str
    url: SplitResult
    embedder: Embedder
    database: str
    api_key: str | None = None

    def __repr__(self) -> str:
        return f"Place({masked(self.name)!r})"

    @property
    def options(self) -> Mapping[str, str]:
        """What stands behind the question mark."""
        return dict(parse_qsl(self.url.query, keep_blank_values=True))

    @property
    def path(self) -> str:
        """The path, as text."""
        return unquote(self.url.path)

    def only(self, *known: str) -> Mapping[str, str]:
        """The options, all of which must be `known`."""
        for name in self.options:
            if name not in known:
                allowed = f"known are {', '.join(known)}" if known else "it takes none"
                raise self.wrong(f"has the option {name!r}; {allowed}")
        return self.options

    def bare(self) -> None:
        """Refuse a host and a path, which mean nothing here."""
        if self.url.netloc or self.url.path:
            raise self.wrong(f"says where, and {self.url.scheme} takes no place; write {self.url.scheme!r}")

    def wrong(self, why: str) -> InvalidSetting:
        """The error that says what is wrong with the name."""
        return InvalidSetting(f"vectors {masked(self.name)!r} {why}")

    def key(self, variable: str) -> str | None:
        """The key that was given, else that of the environment."""
        return self.api_key or os.environ.get(variable) or None


def backend_from(
    name: str, *, embedder: Embedder, database: str, api_key: str | None = None
) -> VectorBackend | None:
    """The index that `name` means; None for the exact one that every memory has.

    Raises InvalidSetting for a name that means nothing, MissingExtra if its package is not installed.
    """
    scheme, mark, options = name.partition("?")
    try:
        url = urlsplit(name if ":" in scheme else f"{scheme}:{mark}{options}")
    except ValueError:
        # What the error tells may be a key.
        raise InvalidSetting(f"vectors {masked(name)!r} is no URL") from None
    place = Place(name, url, embedder, database, api_key)
    if url.netloc and "@" in name:
        raise place.wrong("holds a key; give it as vectors_api_key, or in the environment")
    if "#" in name:
        raise place.wrong("has a # in it, which means nothing here")
    if url.scheme == EXACT:
        place.only()
        place.bare()
        return None
    maker = NAMED.get(url.scheme) or _added(url.scheme)
    if maker is None:
        known = ", ".join([EXACT, *NAMED])
        raise place.wrong(f"is unknown; known are {known}, as in qdrant://host:6333/collection")
    return maker(place)


def _added(scheme: str) -> Callable[[Place], VectorBackend] | None:
    for point in entry_points(group=GROUP, name=scheme):
        maker: Callable[[Place], VectorBackend] = point.load()
        return maker
    return None


def _faiss(place: Place) -> VectorBackend:
    place.only()
    if place.url.netloc:
        raise place.wrong("names a host; write faiss:///folder/index for a file")
    embedder = place.embedder
    path = place.path or None
    return FAISSBackend(lambda text: embedder.embed([text])[0], embedder.dimension, path)


def _qdrant(place: Place) -> VectorBackend:
    from recollectx.storage.vector.qdrant import QdrantBackend

    collection, where = place.only("collection").get("collection"), place.path
    secure = place.url.scheme == "qdrants"
    if place.url.netloc:
        named = place.path.strip("/")
        if named and collection:
            raise place.wrong("names two collections")
        where = f"{'https' if secure else 'http'}://{place.url.netloc}"
        collection = collection or named
    elif not where:
        raise place.wrong(
            "names neither a server nor a folder; write qdrant://host:6333/collection or qdrant:///folder"
        )
    elif secure:
        raise place.wrong("names a folder, and qdrants:// is for servers; write qdrant:///folder")
    return QdrantBackend(
        where,
        collection or COLLECTION,
        dimension=place.embedder.dimension,
        api_key=place.key("QDRANT_API_KEY"),
    )


def _pgvector(place: Place) -> VectorBackend:
    from recollectx.storage.vector.pgvector import PgVectorBackend

    place.only()
    place.bare()
    return PgVectorBackend(place.database, place.embedder.dimension)


def _pinecone(place: Place) -> VectorBackend:
    from recollectx.storage.vector.pinecone import PineconeBackend

    options = place.only("host", "cloud", "region")
    index, path = place.url.netloc, place.path.strip("/")
    if not (index or path):
        raise place.wrong("names no index; write pinecone://index")
    if index and path:
        raise place.wrong("has more than a name; write pinecone://index")
    key = place.key("PINECONE_API_KEY")
    if key is None:
        raise InvalidSetting("Pinecone needs a key: api_key, or PINECONE_API_KEY in the environment")
    return PineconeBackend(
        key,
        index or path,
        dimension=place.embedder.dimension,
        host=options.get("host"),
        cloud=options.get("cloud", "aws"),
        region=options.get("region", "us-east-1"),
    )


NAMED: Mapping[str, Callable[[Place], VectorBackend]] = {
    "faiss": _faiss,
    "qdrant": _qdrant,
    "qdrants": _qdrant,
    "pgvector": _pgvector,
    "pinecone": _pinecone,
}
