"""The tables, mapped with SQLAlchemy; the migrations make them, `test_migrations` holds the two together.

Two clocks: tx_from and tx_to are transaction numbers (`rx_tx.seq`) between which a row was believed, tx_to None
means still. valid_from and valid_to say when a claim holds in the world. Times are microseconds since 1970 UTC.
The names begin with rx_ so that they never meet another table of the host's database.
"""

from sqlalchemy import BigInteger, Float, ForeignKey, Index, Integer, LargeBinary, MetaData, Text, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Big = BigInteger().with_variant(Integer, "sqlite")
# Compared byte by byte, as SQLite does, whatever language a server is set to.
Words = Text().with_variant(Text(collation="C"), "postgresql")
LIVE = text("tx_to IS NULL")


class Base(DeclarativeBase):
    """What every table of recollectx descends from."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Versioned:
    """The columns of rows with a transaction time."""

    tx_from: Mapped[int] = mapped_column(Big, sort_order=90)
    tx_to: Mapped[int | None] = mapped_column(Big, sort_order=91)


class Tx(Base):
    """One write: its place in the order, its time, and what caused it."""

    __tablename__ = "rx_tx"
    __table_args__ = (Index("ix_rx_tx_at_seq", "at", "seq"),)
    seq: Mapped[int] = mapped_column(Big, primary_key=True, autoincrement=False)
    at: Mapped[int] = mapped_column(Big)
    cause: Mapped[str] = mapped_column(Words)


class ChangeRow(Base):
    """One thing that happened, by ids alone; detail is a relation or a status, never content."""

    __tablename__ = "rx_changes"
    __table_args__ = (
        Index("ix_rx_changes_scope_n", "scope", "n"),
        Index("ix_rx_changes_claim_n", "claim", "n"),
    )
    n: Mapped[int] = mapped_column(Big, primary_key=True, autoincrement=False)
    seq: Mapped[int] = mapped_column(Big, index=True)
    scope: Mapped[str | None] = mapped_column(Words)
    kind: Mapped[str] = mapped_column(Words)
    claim: Mapped[int | None] = mapped_column(Big)
    other: Mapped[int | None] = mapped_column(Big)
    detail: Mapped[str | None] = mapped_column(Words)


class ClaimRow(Base):
    """The identity of a claim and its present numbers.

    strength is what weighs on others, in [.01, .99]; confidence is what is read. erased: the tx that erased it.
    """

    __tablename__ = "rx_claims"
    __table_args__ = (Index("ix_rx_claims_scope_pk", "scope", "pk"),)
    pk: Mapped[int] = mapped_column(Big, primary_key=True, autoincrement=False)
    id: Mapped[str] = mapped_column(Words, unique=True)
    scope: Mapped[str] = mapped_column(Words)
    type: Mapped[str] = mapped_column(Words)
    created_at: Mapped[int] = mapped_column(Big)
    strength: Mapped[float] = mapped_column(Float)
    confidence: Mapped[float] = mapped_column(Float)
    erased: Mapped[int | None] = mapped_column(Big)


class AliasRow(Versioned, Base):
    """A further id of a claim."""

    __tablename__ = "rx_aliases"
    tx_from: Mapped[int] = mapped_column(Big, primary_key=True, autoincrement=False, sort_order=90)
    id: Mapped[str] = mapped_column(Words, primary_key=True)
    claim: Mapped[int] = mapped_column(Big, ForeignKey("rx_claims.pk"), index=True)


class TextRow(Base):
    """One wording of a claim with its search tokens.

    said and slot are 63-bit hashes that find equal claims and values of the same thing by one index search.
    """

    __tablename__ = "rx_texts"
    pk: Mapped[int] = mapped_column(Big, primary_key=True, autoincrement=False)
    claim: Mapped[int] = mapped_column(Big, ForeignKey("rx_claims.pk"), index=True)
    said: Mapped[int] = mapped_column(Big, index=True)
    slot: Mapped[int | None] = mapped_column(Big, index=True)
    subject: Mapped[str | None] = mapped_column(Words)
    predicate: Mapped[str | None] = mapped_column(Words)
    object: Mapped[str] = mapped_column(Words)
    tokens: Mapped[str] = mapped_column(Words)


class VectorRow(Base):
    """The embedding of one wording: float16, little-endian; half the bytes of float32 move a cosine by under 1e-4."""

    __tablename__ = "rx_vectors"
    text: Mapped[int] = mapped_column(Big, ForeignKey("rx_texts.pk"), primary_key=True, autoincrement=False)
    vector: Mapped[bytes] = mapped_column(LargeBinary)


class TokenVectorsRow(Base):
    """The vectors of the tokens of one wording: int8 as recollectx.late_interaction packs them, `width` to a token.

    They go when the vector of the wording goes.
    """

    __tablename__ = "rx_token_vectors"
    text: Mapped[int] = mapped_column(
        Big, ForeignKey("rx_vectors.text", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    width: Mapped[int] = mapped_column(Integer)
    vectors: Mapped[bytes] = mapped_column(LargeBinary)


class RevisionRow(Versioned, Base):
    """What a claim was like between two transactions; entities and meta (the metadata) are JSON, None when empty.

    stated_to: the valid_to that was stated; a supersession or a correction makes valid_to earlier and leaves it be.
    """

    __tablename__ = "rx_revisions"
    __table_args__ = (
        Index("ix_rx_revisions_live", "claim", unique=True, sqlite_where=LIVE, postgresql_where=LIVE),
        Index("ix_rx_revisions_claim_tx_from", "claim", "tx_from"),
    )
    pk: Mapped[int] = mapped_column(Big, primary_key=True, autoincrement=False)
    claim: Mapped[int] = mapped_column(Big, ForeignKey("rx_claims.pk"))
    text: Mapped[int] = mapped_column(Big, ForeignKey("rx_texts.pk"), index=True)
    importance: Mapped[float] = mapped_column(Float)
    category: Mapped[str | None] = mapped_column(Words)
    status: Mapped[str] = mapped_column(Words)
    basis: Mapped[str] = mapped_column(Words)
    entities: Mapped[str | None] = mapped_column(Words)
    meta: Mapped[str | None] = mapped_column(Words)
    valid_from: Mapped[int | None] = mapped_column(Big)
    valid_to: Mapped[int | None] = mapped_column(Big)
    stated_to: Mapped[int | None] = mapped_column(Big)
    due_at: Mapped[int | None] = mapped_column(Big)
    review_after: Mapped[int | None] = mapped_column(Big)
    session: Mapped[str | None] = mapped_column(Words)
    position: Mapped[int | None] = mapped_column(Big)


class AssertionRow(Versioned, Base):
    """One source standing behind a claim; evidence and dates (microseconds) are JSON lists, None when empty."""

    __tablename__ = "rx_assertions"
    __table_args__ = (
        Index("ix_rx_assertions_claim_tx_from", "claim", "tx_from"),
        Index("ix_rx_assertions_source_live", "source", sqlite_where=LIVE, postgresql_where=LIVE),
    )
    pk: Mapped[int] = mapped_column(Big, primary_key=True, autoincrement=False)
    claim: Mapped[int] = mapped_column(Big, ForeignKey("rx_claims.pk"))
    source: Mapped[str | None] = mapped_column(Words)
    confidence: Mapped[float] = mapped_column(Float)
    evidence: Mapped[str | None] = mapped_column(Words)
    span: Mapped[str | None] = mapped_column(Words)
    said_at: Mapped[int] = mapped_column(Big)
    session: Mapped[str | None] = mapped_column(Words)
    times: Mapped[int] = mapped_column(Integer)
    dates: Mapped[str | None] = mapped_column(Words)


class EdgeRow(Versioned, Base):
    """src supports / contradicts / corrects dst, or dst derives from src, or a plain relation.

    at: of supersedes, when dst ceased to hold; None is when src began to.
    """

    __tablename__ = "rx_edges"
    __table_args__ = (
        Index(
            "ix_rx_edges_live",
            "dst",
            "relation",
            "src",
            "derivation",
            unique=True,
            sqlite_where=LIVE,
            postgresql_where=LIVE,
        ),
        Index("ix_rx_edges_out_live", "src", "relation", "dst", sqlite_where=LIVE, postgresql_where=LIVE),
        Index("ix_rx_edges_dst_tx_from", "dst", "tx_from"),
        Index("ix_rx_edges_src_tx_from", "src", "tx_from"),
    )
    pk: Mapped[int] = mapped_column(Big, primary_key=True, autoincrement=False)
    dst: Mapped[int] = mapped_column(Big, ForeignKey("rx_claims.pk"))
    relation: Mapped[str] = mapped_column(Words)
    src: Mapped[int] = mapped_column(Big, ForeignKey("rx_claims.pk"))
    strength: Mapped[float] = mapped_column(Float)
    derivation: Mapped[str | None] = mapped_column(Words)
    at: Mapped[int | None] = mapped_column(Big)


class TrustRow(Versioned, Base):
    """How far a source is trusted; scope None is everywhere."""

    __tablename__ = "rx_trust"
    __table_args__ = (Index("ix_rx_trust_source_tx_from", "source", "tx_from"),)
    pk: Mapped[int] = mapped_column(Big, primary_key=True, autoincrement=False)
    source: Mapped[str] = mapped_column(Words)
    scope: Mapped[str | None] = mapped_column(Words)
    level: Mapped[float] = mapped_column(Float)


class StrengthRow(Base):
    """The confidence of a claim from a transaction on; append-only, change is the n of what moved it."""

    __tablename__ = "rx_strengths"
    __table_args__ = ({"sqlite_with_rowid": False},)
    claim: Mapped[int] = mapped_column(Big, ForeignKey("rx_claims.pk"), primary_key=True)
    tx_from: Mapped[int] = mapped_column(Big, primary_key=True)
    value: Mapped[float] = mapped_column(Float)
    strength: Mapped[float] = mapped_column(Float)
    change: Mapped[int] = mapped_column(Big)


class TraceRow(Base):
    """An answer that was given in the transaction seq; meta is JSON. erased: the tx that took its words away."""

    __tablename__ = "rx_traces"
    __table_args__ = (Index("ix_rx_traces_scope_pk", "scope", "pk"),)
    pk: Mapped[int] = mapped_column(Big, primary_key=True, autoincrement=False)
    id: Mapped[str] = mapped_column(Words, unique=True)
    scope: Mapped[str] = mapped_column(Words)
    seq: Mapped[int] = mapped_column(Big)
    question: Mapped[str | None] = mapped_column(Words)
    response: Mapped[str | None] = mapped_column(Words)
    meta: Mapped[str | None] = mapped_column(Words)
    erased: Mapped[int | None] = mapped_column(Big)


class TraceClaimRow(Base):
    """A claim that an answer had to go on; parts is a JSON object of numbers, the words are those of its revision."""

    __tablename__ = "rx_trace_claims"
    trace: Mapped[int] = mapped_column(Big, ForeignKey("rx_traces.pk"), primary_key=True)
    claim: Mapped[int] = mapped_column(Big, ForeignKey("rx_claims.pk"), primary_key=True, index=True)
    rank: Mapped[int] = mapped_column(Integer)
    score: Mapped[float] = mapped_column(Float)
    confidence: Mapped[float] = mapped_column(Float)
    parts: Mapped[str] = mapped_column(Words)


class DeliveryRow(Base):
    """How far an index outside has come: n is the last change it took, below 0 while it is to be emptied.

    holder: who feeds it, until when. next_at: when it is tried again after `attempts` that failed with `error`.
    """

    __tablename__ = "rx_deliveries"
    name: Mapped[str] = mapped_column(Words, primary_key=True)
    n: Mapped[int] = mapped_column(Big)
    attempts: Mapped[int] = mapped_column(Integer)
    next_at: Mapped[int | None] = mapped_column(Big)
    error: Mapped[str | None] = mapped_column(Words)
    holder: Mapped[str | None] = mapped_column(Words)
    until: Mapped[int | None] = mapped_column(Big)


class SettingRow(Versioned, Base):
    """A setting kept with the data; value is JSON."""

    __tablename__ = "rx_settings"
    pk: Mapped[int] = mapped_column(Big, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Words)
    value: Mapped[str] = mapped_column(Words)


Index("ix_rx_settings_live", SettingRow.name, unique=True, sqlite_where=LIVE, postgresql_where=LIVE)
