"""The SQL of PgVectorBackend: what is asked of its table, by name."""

from collections.abc import Mapping

INDEXED, INDEXED_HALF = 2_000, 4_000
"""Dimensions that HNSW takes as they are, and in half precision; longer vectors have no index."""
LOCK = 7_061_423_907_134_553_187
"""Held by who makes the table: PostgreSQL lets two who make the same one at a time fail."""


def statements(table: str, dimension: int) -> Mapping[str, str]:
    """What is asked of a table, by name. A row is found by hashes of its scope and id, which may be of any length.

    A table that is left without its vectors, as when the extension was dropped, is made whole, and empty.
    """
    half = INDEXED < dimension <= INDEXED_HALF
    typed = f"halfvec({dimension})" if half else f"vector({dimension})"
    near = f"embedding::{typed}" if half else "embedding"
    asked = f"%(vector)s::vector({dimension})"
    here = "md5(scope) = md5(%(scope)s::text) AND scope = %(scope)s::text"
    these = (
        f"{here} AND md5(id) IN (SELECT md5(e) FROM unnest(%(ids)s::text[]) e) AND id = ANY (%(ids)s::text[])"
    )
    index = (
        f"CREATE INDEX IF NOT EXISTS {table}_near ON {table} "
        f"USING hnsw (({near}) {'halfvec' if half else 'vector'}_cosine_ops)"
    )
    index = index if dimension <= INDEXED_HALF else ""
    return {
        "length": f"""
            SELECT atttypmod FROM pg_attribute
            WHERE attrelid = to_regclass('{table}') AND attname = 'embedding' AND NOT attisdropped""",
        "make": f"""
            SELECT pg_advisory_xact_lock({LOCK});
            CREATE EXTENSION IF NOT EXISTS vector;
            CREATE TABLE IF NOT EXISTS {table} (
                scope text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, embedding vector({dimension}) NOT NULL
            );
            DO $$ BEGIN
                IF (SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
                    WHERE attrelid = to_regclass('{table}') AND attnum > 0 AND NOT attisdropped) = '{{scope,id}}'
                THEN
                    TRUNCATE {table};
                    ALTER TABLE {table} ADD COLUMN embedding vector({dimension}) NOT NULL;
                END IF;
            END $$;
            CREATE UNIQUE INDEX IF NOT EXISTS {table}_key ON {table} (md5(scope), md5(id));
            {index}""",
        "reshape": f"""
            DROP INDEX IF EXISTS {table}_near;
            TRUNCATE {table};
            ALTER TABLE {table} ALTER COLUMN embedding TYPE vector({dimension});
            {index}""",
        "upsert": f"""
            INSERT INTO {table} (scope, id, embedding) VALUES (%(scope)s, %(id)s, {asked})
            ON CONFLICT (md5(scope), md5(id)) DO UPDATE SET embedding = EXCLUDED.embedding""",
        "delete": f"DELETE FROM {table} WHERE {these}",
        "clear": f"DELETE FROM {table} WHERE {here}",
        "clear all": f"DELETE FROM {table}",
        "count": f"SELECT count(*) FROM {table} WHERE {here}",
        "count all": f"SELECT count(*) FROM {table}",
        "is large": f"SELECT 1 FROM {table} WHERE {here} OFFSET %(most)s LIMIT 1",
        "scopes": f"SELECT DISTINCT scope FROM {table}",
        "ids": f"SELECT id FROM {table} WHERE {here}",
        "vectors": f"SELECT id, embedding FROM {table} WHERE {these}",
        "widen": """
            SELECT set_config('hnsw.ef_search', %(ef)s, true), set_config('hnsw.iterative_scan', 'strict_order', true)""",
        "nearest by index": f"""
            SELECT id, embedding <=> {asked} FROM {table} WHERE {here}
            ORDER BY {near} <=> {asked}{f"::{typed}" if half else ""} LIMIT %(k)s""",
        "nearest": f"""
            WITH held AS MATERIALIZED (SELECT id, embedding <=> {asked} AS far FROM {table} WHERE {here})
            SELECT id, far FROM held ORDER BY far, id LIMIT %(k)s""",
    }
