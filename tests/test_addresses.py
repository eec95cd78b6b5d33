"""Where a service or a server's database is: one spelling for all of one, and no key in it."""

import pytest

from recollectx.db.urls import address_of, resolve_url
from recollectx.errors import InvalidSetting
from recollectx.storage.vector.addresses import one_name, server_url

KEY = "hush-hush-1234"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://host:6333", "http://host:6333"),
        ("HTTP://Host:6333/", "http://host:6333"),
        ("host:6333", "http://host:6333"),
        ("http://host", "http://host:6333"),
        ("https://host", "https://host:6333"),
        ("https://host:443/Under/", "https://host:443/Under"),
        ("127.0.0.1:6333", "http://localhost:6333"),
        ("http://LOCALHOST", "http://localhost:6333"),
        ("[::1]:6333", "http://localhost:6333"),
        ("http://[2001:DB8::1]", "http://[2001:db8::1]:6333"),
    ],
)
def test_a_server_has_one_address(text, address):
    assert one_name(server_url(text, scheme="http", port=6333)) == address


@pytest.mark.parametrize(
    "text",
    [
        f"http://ana:{KEY}@host",
        f"http://ana:p/{KEY}@host",
        f"http://{KEY}@host:1",
        f"http://host?api_key={KEY}",
        f"http://host#token={KEY}",
        "http://[::1",
        "http://:6333",
    ],
)
def test_what_is_no_address_is_refused_without_its_key(text):
    with pytest.raises(InvalidSetting) as refused:
        server_url(text, scheme="http", port=6333)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://localhost/memory",
        f"postgres://ana:{KEY}@127.0.0.1:5432/memory?sslmode=prefer",
        "postgresql+psycopg://LocalHost/memory",
        "postgresql://[::1]/memory",
        "postgresql:///memory",
        "postgresql:///memory?host=localhost&port=5432",
    ],
)
def test_a_database_has_one_address(text):
    assert address_of(resolve_url(text)) == "postgresql://localhost:5432/memory"


def test_databases_that_differ_have_addresses_that_differ():
    urls = (
        "a/m",
        "a/M",
        "b/m",
        "a:5433/m",
        "/m?host=/run/A",
        "/m?host=/run/a",
        "/m?host=b&host=a",
        "/m?host=/run/b",
    )
    assert len({address_of(resolve_url(f"postgresql://{each}")) for each in urls}) == len(urls)
