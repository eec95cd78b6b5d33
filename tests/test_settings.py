"""Configuration: where each setting comes from, what is refused, and that no key is shown."""

import json
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from recollectx import Memory, SemanticClaim
from recollectx.cli.app import app
from recollectx.db import server
from recollectx.embeddings import HashEmbedder
from recollectx.errors import InvalidSetting
from recollectx.masking import masked
from recollectx.propagation import LogOdds
from recollectx.settings import SETTINGS, settings_from
from recollectx.storage.vector import FAISSBackend
from recollectx.storage.vector.named import Place
from recollectx.testing import ScriptedProvider
from recollectx.updater import MemoryUpdater

KEY = "hush-hush-1234"


@pytest.fixture
def toml(tmp_path):
    def write(text: str):
        path = tmp_path / "settings.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_code_counts_before_the_environment_and_that_before_the_file(toml):
    file = toml('scope = "of the file"\ncache_mb = 7\nbusy_seconds = 3\n')
    environ = {"RECOLLECTX_SCOPE": "of the environment", "RECOLLECTX_CACHE_MB": "9"}
    found = settings_from(file, environ=environ, scope="of the code")
    assert [found[name] for name in ("scope", "cache_mb", "busy_seconds", "embedder")] == [
        "of the code",
        9,
        3,
        "auto",
    ]
    assert {
        name: found.chosen[name].origin for name in ("scope", "cache_mb", "busy_seconds", "embedder")
    } == {
        "scope": "given",
        "cache_mb": "RECOLLECTX_CACHE_MB",
        "busy_seconds": str(file),
        "embedder": "default",
    }


def test_a_mapping_is_code_and_a_variable_names_the_file(toml):
    environ = {
        "RECOLLECTX_SCOPE": "there",
        "RECOLLECTX_CONFIG": str(toml('[recollectx]\nvectors = "faiss"\n')),
    }
    found = settings_from({"scope": "here"}, environ=environ)
    assert (found["scope"], found["vectors"]) == ("here", "faiss")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('vektors = "faiss"', "did you mean vectors"),
        ("colour = 1", "known are url"),
        ("cache_mb = 0", "cache_mb .* whole number from 1, got 0"),
        ("cache_mb = 1.5", "whole number"),
        ("cache_mb = true", "whole number"),
        ("busy_seconds = -1", "number from 0"),
        ('token_vectors = "maybe"', "true or false"),
        ("scope = 3", "text"),
        ('scope = " "', "not blank"),
        ("vectors = 3", "must be text"),
        ("recollectx = 3", "must be a table"),
        ("a = ", "no TOML"),
        ("busy_seconds = inf", "number from 0 to 2000000, got inf"),
        ("busy_seconds = nan", "number from 0"),
        ("busy_seconds = 1e10", "to 2000000"),
        ("cache_mb = " + 400 * "9", "whole number from 1, got a number of 1,329 bits"),
        ("cache_mb = " + 5000 * "9", "no TOML that can be read"),
        ("url = " + 3000 * "[" + 3000 * "]", "no TOML that can be read"),
        ('vectors = "faiss"\n[recollectx]\nscope = "a"', "'vectors' stands above .recollectx."),
        ('vectorz = "x"\n[recollectx]\nscope = "a"', "'vectorz' stands above"),
    ],
)
def test_what_is_wrong_in_a_file_is_refused_by_name(toml, text, told):
    with pytest.raises(InvalidSetting, match=told):
        settings_from(toml(text), environ={})


def test_tables_of_other_programs_stand_beside_ours(toml):
    assert settings_from(toml('[tool.other]\nx = 1\n[recollectx]\nscope = "a"\n'), environ={})["scope"] == "a"


@pytest.mark.parametrize(
    "text",
    [
        f'url = ["postgresql://ana:{KEY}@host/db"]',
        f'url = {{ a = "{KEY}" }}',
        f'recollectx = "postgresql://ana:{KEY}@host/db"',
        f'recollectx = ["{KEY}"]',
        f'cache_mb = "postgresql://ana:{KEY}@host/db"',
        f'vectors_api_key = ["{KEY}"]',
    ],
)
def test_a_value_that_is_refused_is_not_shown_where_it_may_hold_a_key(toml, text):
    with pytest.raises(InvalidSetting) as refused:
        settings_from(toml(text), environ={})
    assert KEY not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidSetting, match="nowhere"):
        settings_from(tmp_path / "nowhere.toml", environ={})


@pytest.mark.parametrize("path", ["~nobody-of-this-name/x.toml", "a\0b.toml", b"nowhere.toml"])
def test_what_can_be_no_file_is_refused(path):
    with pytest.raises(InvalidSetting, match=r"is no path|cannot read"):
        settings_from(path, environ={})
    if isinstance(path, str):
        with pytest.raises(InvalidSetting, match="is no path"):
            settings_from(environ={"RECOLLECTX_CONFIG": path})
        with pytest.raises(InvalidSetting, match="is no path"):
            Memory.open(path)


@pytest.mark.parametrize(
    "url",
    [
        f"sqlite://ana:{KEY}@host/db",
        "sqlite://host/db",
        f"postgresql://ana:{KEY}@127.0.0.1:1/db?connect_timeout=abc",
        f"postgresql://ana:{KEY}@127.0.0.1:1/db?connect_timeout=1&connect_timeout=2",
        f"postgresql://ana:{KEY}@127.0.0.1:1/db?connect_timeout=99999999999",
    ],
)
def test_a_url_that_cannot_be_meant_is_refused_without_its_password(url):
    with pytest.raises(InvalidSetting) as refused:
        Memory.open(url)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("number", [10**400, -(10**5000)], ids=["large", "small"])
def test_a_number_beyond_all_numbers_is_refused(number):
    for name in ("cache_mb", "busy_seconds"):
        with pytest.raises(InvalidSetting, match=f"{name} .* got a number of"):
            settings_from({name: number}, environ={})


@pytest.mark.parametrize(("text", "value"), [("1", True), ("Yes", True), ("off", False), ("FALSE", False)])
def test_the_environment_is_read_as_what_it_means(text, value):
    found = settings_from(environ={"RECOLLECTX_TOKEN_VECTORS": text, "RECOLLECTX_BUSY_SECONDS": "2.5"})
    assert (found["token_vectors"], found["busy_seconds"]) == (value, 2.5)


def test_a_word_where_a_number_is_meant_is_refused_from_the_environment():
    with pytest.raises(InvalidSetting, match="RECOLLECTX_CACHE_MB"):
        settings_from(environ={"RECOLLECTX_CACHE_MB": "plenty"})


def test_every_setting_can_be_given_by_its_variable():
    assert len({each.variable for each in SETTINGS.values()}) == len(SETTINGS)


def test_keys_and_passwords_are_never_shown():
    found = settings_from({"url": f"postgresql://ana:{KEY}@host:5432/db", "vectors_api_key": KEY}, environ={})
    assert KEY not in repr(found)
    assert all(KEY not in f"{each.shown}{each!r}" for each in found.chosen.values())
    place = Place(f"mine://host?api_key={KEY}", urlsplit("mine://host"), HashEmbedder(4), found["url"], KEY)
    assert "mine://host" in repr(place)
    assert KEY not in repr(place)
    with pytest.raises(InvalidSetting) as refused:
        settings_from({"vectors_api_key": 5}, environ={"RECOLLECTX_SCOPE": KEY})
    assert "5" not in str(refused.value).replace("vectors", "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ana:pw@host/db", "postgresql://ana:***@host/db"),
        ("postgresql://ana:p:w@host/db?sslmode=require", "postgresql://ana:***@host/db?sslmode=require"),
        ("postgresql://host/db?user=ana&password=pw&x=1", "postgresql://host/db?user=ana&password=***&x=1"),
        ("pinecone://index?api_key=pw", "pinecone://index?api_key=***"),
        ("qdrant://:pw@host/things", "qdrant://:***@host/things"),
        ("postgresql://ana:p/w@host/db", "postgresql://ana:***@host/db"),
        ("postgresql://ana:p?w@host/db", "postgresql://ana:***@host/db"),
        ("postgresql://ana:p#w@host/db", "postgresql://ana:***@host/db"),
        ("postgresql://ana:p@w@host/db", "postgresql://ana:***@host/db"),
        ("postgresql://ana@host:5432/db", "postgresql://ana@host:5432/db"),
        ("postgresql://p@w@host/db", "postgresql://***@host/db"),
        ("postgresql://host/db?user=ana&password=p#w&x=1", "postgresql://host/db?user=ana&password=***&x=1"),
        ("postgresql:///db?host=/run&pass=pw", "postgresql:///db?host=/run&pass=***"),
        ("qdrant://pw@host/things", "qdrant://***@host/things"),
        ("qdrant:///a@b/things", "qdrant:///a@b/things"),
        ("sqlite:///a:b.db", "sqlite:///a:b.db"),
        ("qdrant://pw:@host/things", "qdrant://***:***@host/things"),
        ("qdrant://pw:pw@host/things", "qdrant://***:***@host/things"),
        ("qdrant://host/things#pw", "qdrant://host/things#***"),
        ("qdrant:pw@host", "qdrant:***@host"),
        ("ana:pw@host/db", "ana:***@host/db"),
        ("postgresql://ana:pw%40host/db", "postgresql://ana:***"),
        ("http://host?auth=pw&x=1", "http://host?auth=***&x=1"),
        ("http://host?x=1&sig=pw", "http://host?x=1&sig=***"),
        ("http://host?credential=pw", "http://host?credential=***"),
        ("http://host?X-Amz-Signature=pw", "http://host?X-Amz-Signature=***"),
        ("http://host?x=1;password=pw", "http://host?x=1;password=***"),
        ("http://host?pass%77ord=pw", "http://host?pass%77ord=***"),
        ("http://[::1]:6333/things", "http://[::1]:6333/things"),
        ("sqlite:///a#b.db", "sqlite:///a#b.db"),
        ("/folder/memory.db", "/folder/memory.db"),
        ("qdrant://host:6333/things", "qdrant://host:6333/things"),
    ],
)
def test_masking(text, shown):
    assert masked(text) == shown


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("elsewhere://host", "unknown; known are exact, faiss"),
        (f"qdrant://x:{KEY}@host/things", "holds a key"),
        ("faiss?colour=red", "option 'colour'"),
        ("qdrant://", "neither a server nor a folder"),
        ("", "unknown"),
        ("exact://here", "exact takes no place"),
        ("exact?x=1", "option 'x'"),
        ("pgvector://other/db", "pgvector takes no place"),
        ("faiss://data/index", "names a host; write faiss:///"),
        ("qdrants:///folder", "is for servers; write qdrant:///"),
        ("pinecone://one/two", "more than a name"),
        ("qdrant://host/one?collection=two", "two collections"),
        ("qdrant://host:6333/one/two", "hold no /, got 'one/two'"),
        ("qdrant://host/things#part", "has a #"),
        ("qdrant://[::1/things", "is no URL"),
        ("qdrant://host:port/things", "no address of a server"),
        (f"qdrant://{KEY}@host/things", "holds a key"),
        (f"qdrant://{KEY}:@host/things", "holds a key"),
        (f"qdrant://host/things#{KEY}", "has a #"),
        (f"qdrant://x:1/{KEY}@host/things", "holds a key"),
    ],
)
def test_an_index_that_means_nothing_is_refused_by_name(path, name, told):
    with pytest.raises(InvalidSetting, match=told) as refused:
        Memory.open(path, vectors=name, embedder=HashEmbedder(16))
    assert KEY not in str(refused.value)


def test_an_index_of_vectors_needs_an_embedder(path):
    with pytest.raises(InvalidSetting, match="needs an embedder"):
        Memory.open(path, vectors="faiss", embedder=None)


def test_the_same_code_runs_on_another_index_by_configuration(path, tmp_path):
    pytest.importorskip("faiss")
    found = []
    for name in ("exact", "faiss", f"faiss://{tmp_path}/index"):
        with Memory.from_config({"url": str(path), "vectors": name, "embedder": HashEmbedder(32)}) as memory:
            if not found:
                memory.store(SemanticClaim.from_text("the kettle is blue"))
            assert isinstance(memory.storage.backend, FAISSBackend) is (name != "exact")
            found.append([(hit.claim.text, round(hit.score, 6)) for hit in memory.recall("blue kettle")])
    assert found[0] == found[1] == found[2] != []


class Refused(LogOdds):
    """A rule that cannot be kept."""

    def settings(self):
        raise ValueError("it has no numbers")


def test_an_opening_that_fails_leaves_nothing_open(path, tmp_path):
    pytest.importorskip("qdrant_client")
    given = {"vectors": f"qdrant://{tmp_path}/folder", "embedder": HashEmbedder(16)}
    with Memory.open(tmp_path / "other.db", embedder=None) as other:
        of_another = MemoryUpdater(other.storage, ScriptedProvider([]))
        kept = []
        for more in ({"rule": Refused()}, {"decider": of_another}):
            # Whoever keeps the error keeps all that it went through.
            with pytest.raises((ValueError, InvalidSetting)) as failed:
                Memory.open(path, **given, **more)
            kept.append(failed)
            with Memory.open(path, **given) as memory:
                assert memory.count() == 0
        assert [each for each in server._open if each.endswith(str(path))] == []


def test_config_on_the_command_line_says_what_is_in_force(toml, monkeypatch):
    monkeypatch.setenv("RECOLLECTX_CONFIG", str(toml('scope = "team"\n')))
    monkeypatch.setenv("RECOLLECTX_VECTORS_API_KEY", KEY)
    run = CliRunner()
    shown = run.invoke(app, ["config", "--json", "--db", f"postgresql://ana:{KEY}@host/db"])
    document = json.loads(shown.stdout)
    assert document["scope"]["value"] == "team"
    assert document["url"] == {
        "value": "postgresql://ana:***@host/db",
        "from": "the command line",
        "variable": "RECOLLECTX_DB",
        "help": document["url"]["help"],
    }
    assert document["vectors"]["from"] == "default"
    drawn = run.invoke(app, ["config"]).stdout
    assert "team" in drawn
    assert KEY not in shown.stdout + drawn


@pytest.mark.parametrize("secret", ["p/hush", "p?hush", "p#hush", "p@hush"])
def test_config_on_the_command_line_shows_no_password_of_any_spelling(secret):
    for options in ([], ["--json"]):
        shown = CliRunner().invoke(app, ["config", *options, "--db", f"postgresql://ana:{secret}@host/db"])
        assert shown.exit_code == 0
        assert "ana:***@host/db" in shown.stdout
        assert "hush" not in shown.output


@pytest.mark.parametrize("name", ["qdrant://hush:@host/things", "qdrant:hush@host", "mine://host?auth=hush"])
def test_config_on_the_command_line_shows_no_key_in_the_name_of_an_index(name):
    for options in ([], ["--json"]):
        shown = CliRunner().invoke(app, ["config", *options, "--vectors", name])
        assert shown.exit_code == 0
        assert "***" in shown.stdout
        assert "hush" not in shown.output


def test_an_at_that_ends_a_password_early_is_refused_and_not_shown():
    for url in ("ana:p@hush@127.0.0.1:1/db", "ana:p@hush/w@127.0.0.1:1/db", "ana:p@hush?w@127.0.0.1:1/db"):
        with pytest.raises(
            InvalidSetting, match=r"more than one @; write one in a password as %40"
        ) as refused:
            Memory.open(f"postgresql://{url}")
        assert "hush" not in str(refused.value)
