import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from click import unstyle
from click.testing import CliRunner, Result

from recollectx import EpisodicClaim, Memory, SemanticClaim, __version__
from recollectx.cli.app import app
from recollectx.cli.render import plain, to_json
from recollectx.embeddings import HashEmbedder

COMMAND = [sys.executable, "-m", "recollectx"]
TURNS = [
    {"speaker": "Ines", "text": "I live in Braga.", "time": "2024-01-01T10:00:00Z", "session": "s1"},
    {"speaker": "Rui", "text": "Lucky you, the bakeries are good.", "session": "s1"},
    {"speaker": "Ines", "text": "I moved to Faro.", "time": "2024-03-01T10:00:00Z", "session": "s2"},
]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def run(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("RECOLLECTX_DB", raising=False)

    def call(*args: object, input: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(app, ["--db", str(db), *map(str, args)], input=input)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call


@pytest.fixture
def ask(run):
    def call(*args: object, **kwargs: object):
        result = run(*args, "--json", **kwargs)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return call


@pytest.fixture
def story(run) -> None:
    for text, source, at in (
        ("I live in Braga", "Ines", "2024-01-01"),
        ("Ines lives in Lagos", "Rui", "2024-02-01"),
        ("I moved to Faro", "Ines", "2024-03-01"),
    ):
        assert run("remember", text, "--source", source, "--at", at).exit_code == 0


def jsonl(path: Path, turns: list) -> Path:
    path.write_text("\n".join(turn if isinstance(turn, str) else json.dumps(turn) for turn in turns))
    return path


def fact(ask, words: str, *status: str) -> dict:
    flags = [part for each in status for part in ("--status", each)]
    return next(
        claim for claim in ask("list", "--type", "semantic", *flags)["claims"] if words in claim["text"]
    )


# -- the whole ---------------------------------------------------------------------------------------------


def test_version_and_help(run):
    assert __version__ in run("--version").stdout
    assert "explain" in run("--help").stdout


@pytest.mark.parametrize(
    "args", [["nonsense"], ["recall"], ["recall", "tea", "-k", "0"], ["list", "--since", "soon"]]
)
def test_wrong_usage_exits_with_2(run, args):
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_an_own_failure_exits_with_1_and_speaks_on_stderr(run, story):
    result = run("explain", "0123456789")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "0123456789" in result.stderr
    assert "Traceback" not in result.stderr


def test_with_json_a_failure_is_json_on_stderr(run, story):
    result = run("--json", "explain", "0123456789")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "0123456789" in json.loads(result.stderr)["error"]


def test_global_options_may_stand_on_either_side(run, tmp_path):
    assert run("--scope", "work", "remember", "Ines likes figs").exit_code == 0
    before = json.loads(run("--json", "--scope", "work", "list").stdout)
    after = json.loads(run("list", "--scope", "work", "--json").stdout)
    assert before == after
    assert {claim["scope"] for claim in after["claims"]} == {"work"}
    assert json.loads(run("list", "--json").stdout)["claims"] == []
    assert run("list", "--db", tmp_path / "elsewhere.db").exit_code == 1


def test_reading_makes_no_database(run, db):
    for args in (["recall", "tea"], ["list"], ["explain", "abcdef"], ["forget", "abcdef"], ["doctor"]):
        result = run(*args)
        assert result.exit_code == 1, args
        assert str(db) in result.stderr
    assert not db.exists()


def test_a_file_that_is_no_database_is_a_message(run, db):
    db.write_text("not a database at all, just words " * 99)
    assert run("list").exit_code == 1
    assert run("doctor").exit_code == 1
    assert db.read_text().startswith("not a database")


# -- writing -----------------------------------------------------------------------------------------------


def test_reembed_takes_the_embedder_that_is_configured(ask, run, tmp_path, monkeypatch):
    config = tmp_path / "settings.toml"
    config.write_text('embedder = "hash"', encoding="utf-8")
    monkeypatch.delenv("RECOLLECTX_EMBEDDER", raising=False)
    monkeypatch.setenv("RECOLLECTX_CONFIG", str(config))
    run("remember", "I live in Braga", "--source", "Ines")
    assert ask("reembed")["embedder"] == HashEmbedder().name
    assert ask("recall", "Where does Ines live?")["hits"]
    monkeypatch.setenv("RECOLLECTX_EMBEDDER", "none")
    refused = run("reembed")
    assert (refused.exit_code, "--embedder" in refused.stderr) == (1, True)


def test_init_is_idempotent(ask, run, db):
    assert ask("init") == {"database": str(db), "created": True}
    assert ask("init") == {"database": str(db), "created": False}
    assert str(db) in run("init").stdout


def test_remember_tells_what_was_kept(ask, run):
    kept = ask("remember", "I live in Braga", "--source", "Ines", "--at", "2024-01-01", "--metadata", "n=3")
    assert [result["action"] for result in kept["results"]] == ["ADD", "ADD"]
    episode, claim = (result["claim"] for result in kept["results"])
    assert episode["metadata"] == {"n": 3}
    assert claim["text"] == "Ines lives in Braga"
    assert (claim["created_at"], claim["source"], claim["prior"]) == ("2024-01-01T00:00:00Z", "Ines", 0.8)
    shown = run("remember", "I moved to Faro", "--source", "Ines").stdout
    assert "superseding" in shown
    assert "Ines lives in Faro" in shown


def test_remember_takes_words_or_standard_input(ask):
    assert ask("remember", "Figs", "are", "ripe")["results"][0]["claim"]["text"] == "Figs are ripe"
    assert ask("remember", "-", input="Plums are not\n")["results"][0]["claim"]["text"] == "Plums are not"


def test_remember_refuses_what_cannot_be_kept(run):
    assert run("remember", "  ").exit_code == 1
    assert run("remember", "-", input=b"\xff\xfe\xfa").exit_code == 1
    assert run("remember", "figs", "--metadata", "novalue").exit_code == 2
    assert run("remember", "figs", "--at", "yesterday").exit_code == 2


def test_forget_takes_a_claim_out_of_use(ask, run, story):
    claim_id = fact(ask, "Lagos")["id"]
    assert ask("forget", claim_id)["action"] == "DELETE"
    assert ask("forget", claim_id)["action"] == "NONE"
    assert "Lagos" not in run("list", "--type", "semantic").stdout
    assert fact(ask, "Lagos", "retired")["id"] == claim_id


def test_erase_asks_first(ask, run, story, db):
    claim_id = fact(ask, "Lagos")["id"]
    assert run("erase").exit_code == 2
    assert run("erase", claim_id, "--whole-scope").exit_code == 2
    assert run("erase", claim_id, input="n\n").exit_code == 1
    assert run("erase", claim_id, input="").exit_code == 1
    assert fact(ask, "Lagos")["id"] == claim_id
    assert run("erase", claim_id[:8], input="y\n").exit_code == 0
    assert run("explain", claim_id).exit_code == 1
    assert run("erase", "--whole-scope", "--yes").exit_code == 0
    assert ask("list")["claims"] == []
    assert b"Faro" not in db.read_bytes()


@pytest.mark.parametrize(
    "line",
    [
        ["--json", "snapshot", "garbage"],
        ["snapshot", "garbage", "--json"],
        ["--json", "erase", "--whole-scope"],
        ["--json", "undo", "99999999999999999999999"],
        ["--json", "undo"],
        ["--json", "nonsense"],
        ["--json", "what-if"],
    ],
)
def test_with_json_wrong_usage_is_told_as_json(run, story, ask, line):
    result = run(*line)
    assert (result.exit_code, result.stdout) == (2, "")
    assert list(json.loads(result.stderr)) == ["error"]
    assert len(ask("list")["claims"]) > 0


def test_without_json_wrong_usage_is_told_with_the_usage(run, story):
    result = run("snapshot", "garbage")
    assert (result.exit_code, "Usage:" in result.stderr) == (2, True)
    assert run("undo", "99999999999999999999999").exit_code == 2


def test_the_receipt_of_an_erasure_is_ids_without_content(ask, story):
    claim_id = fact(ask, "Lagos")["id"]
    receipt = ask("erase", claim_id, "--yes")
    assert receipt["ids"] == [claim_id]
    assert receipt["rows"] > 0
    assert "Lagos" not in json.dumps(receipt)


# -- ingest ------------------------------------------------------------------------------------------------


def test_ingest_counts_and_is_idempotent(ask, tmp_path):
    path = jsonl(tmp_path / "talk.jsonl", TURNS)
    first = ask("ingest", path, "--batch", 2)["total"]
    assert (first["turns"], first["episodes_new"], first["claims_added"]) == (3, 3, 2)
    assert (first["claims_superseding"], first["claims_contradicting"]) == (1, 0)
    again = ask("ingest", path)["total"]
    assert (again["episodes_new"], again["episodes_known"], again["claims_added"]) == (0, 3, 0)
    assert len(ask("list")["claims"]) == 4


def test_positions_are_counted_in_each_session(ask, tmp_path):
    ask(
        "ingest",
        jsonl(tmp_path / "talk.jsonl", [*TURNS, {"speaker": "Rui", "text": "Far!", "session": "s1"}]),
    )
    turns = ask("list", "--type", "episodic", "--session", "s1")["claims"]
    assert {turn["text"]: turn["position"] for turn in turns} == {
        "Ines: I live in Braga.": 0,
        "Rui: Lucky you, the bakeries are good.": 1,
        "Rui: Far!": 2,
    }


def test_a_turn_without_a_time_has_that_of_the_turn_before(ask, tmp_path):
    ask("ingest", jsonl(tmp_path / "talk.jsonl", TURNS))
    turn = next(claim for claim in ask("list")["claims"] if "bakeries" in claim["text"])
    assert turn["created_at"] == "2024-01-01T10:00:00Z"


def test_a_file_without_times_is_idempotent_too(ask, tmp_path):
    messages = [{"role": "user", "content": "I live in Braga."}, {"role": "assistant", "content": "Noted."}]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(messages))
    assert ask("ingest", path)["total"]["episodes_new"] == 2
    time.sleep(0.01)
    assert ask("ingest", path)["total"]["episodes_known"] == 2
    assert {claim["session"] for claim in ask("list", "--type", "episodic")["claims"]} == {"chat"}


def test_ingest_knows_roles_and_skips_what_says_nothing(ask, tmp_path):
    talk = [
        {"role": "human", "content": [{"type": "text", "text": "I live in Braga."}]},
        {"role": "AI", "content": None, "tool_calls": []},
        {"role": "AI", "content": "I live in Rome."},
    ]
    total = ask("ingest", jsonl(tmp_path / "talk.jsonl", talk))["total"]
    assert (total["turns"], total["skipped"], total["episodes_new"]) == (2, 1, 2)
    assert {claim["text"] for claim in ask("list")["claims"]} == {
        "I live in Braga.",
        "user lives in Braga",
        "ai: I live in Rome.",
    }


def test_ingest_reads_standard_input_and_several_files(ask, run, tmp_path):
    assert ask("ingest", "-", input=json.dumps(TURNS))["files"][0]["episodes_new"] == 3
    one, two = jsonl(tmp_path / "one.jsonl", TURNS[:1]), jsonl(tmp_path / "two.jsonl", TURNS[1:])
    told = ask("ingest", one, two, "--scope-per-file")
    assert [(each["scope"], each["turns"]) for each in told["files"]] == [("one", 1), ("two", 2)]
    assert told["total"]["turns"] == 3
    assert len(ask("list", "--scope", "two", "--type", "episodic")["claims"]) == 2
    shown = run("ingest", one, two).stdout.splitlines()
    assert [line.split()[0] for line in shown] == ["file", "one.jsonl", "two.jsonl", "total"]


@pytest.mark.parametrize(
    "bad",
    [
        "{not json",
        "[1]",
        '"words"',
        {"speaker": "Rui"},
        {"speaker": "Rui", "text": 7},
        {"speaker": "Rui", "text": "a\0b"},
        {"speaker": "Rui", "text": "x" * 100_001},
        {"speaker": "Rui", "text": "x" * 99_999},
        {"speaker": 7, "text": "hello"},
        {"speaker": "Rui", "text": "hello", "time": "noon"},
        {"speaker": "Rui", "text": "hello", "position": -1},
        {"speaker": "Rui", "text": "hello", "position": "first"},
        {"speaker": "Rui", "text": "hello", "session": 4},
        {"speaker": "Rui", "text": "hello", "metadata": "none"},
        {"speaker": "Rui", "text": "hello", "mood": "fine"},
        '{"speaker": "Rui", "text": "\\ud800"}',
        "[" * 100_000,
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(run, tmp_path, db, bad):
    good, path = jsonl(tmp_path / "good.jsonl", TURNS), jsonl(tmp_path / "talk.jsonl", [*TURNS, "", bad])
    result = run("ingest", good, path)
    assert result.exit_code == 1
    assert f"{path}:5: " in result.stderr
    assert len(result.stderr) < 1000
    assert not db.exists()


def test_a_bad_turn_of_a_list_is_named(run, tmp_path, db):
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([*TURNS, {"role": "user"}]))
    result = run("ingest", path)
    assert result.exit_code == 1
    assert "turn 4" in result.stderr
    path.write_bytes(b'[{"role": "user", "content": "\xff"}]')
    assert "UTF-8" in run("ingest", path).stderr
    assert not db.exists()


def test_a_missing_file_is_wrong_usage(run, tmp_path):
    assert run("ingest", tmp_path / "nowhere.jsonl").exit_code == 2


# -- reading -----------------------------------------------------------------------------------------------


def test_recall_orders_and_marks_disputes(ask, run, story):
    told = ask("recall", "Where does Ines live?", "--type", "semantic")
    assert [hit["rank"] for hit in told["hits"]] == [1, 2]
    faro, lagos = (next(h for h in told["hits"] if w in h["claim"]["text"]) for w in ("Faro", "Lagos"))
    assert faro["disputed_by"] == [lagos["claim"]["id"]]
    assert 0 < faro["claim"]["confidence"] < faro["claim"]["prior"]
    assert faro["parts"]["keyword"] > 0
    shown = run("recall", "Where does Ines live?").stdout
    assert f"disputed by {lagos['claim']['id'][:8]}" in shown
    assert "keyword" not in shown
    assert "keyword" in run("recall", "Where does Ines live?", "-v").stdout


def test_nothing_found_is_no_failure(ask, run, story):
    assert ask("recall", "zebras")["hits"] == []
    result = run("recall", "zebras")
    assert (result.exit_code, result.stdout) == (0, "No belief fits\n")


def test_filters(ask, tmp_path):
    ask("ingest", jsonl(tmp_path / "talk.jsonl", TURNS), "--scope-per-file")
    ask("remember", "Figs are ripe", "--metadata", "place=garden", "--at", "2024-05-01")
    ask("remember", "Figs are gone", "--at", "2024-06-01T08:00")

    def texts(*args):
        return [claim["text"] for claim in ask("list", *args)["claims"]]

    assert texts("--metadata", "place=garden") == ["Figs are ripe"]
    assert texts("--since", "2024-05-02") == ["Figs are gone"]
    assert texts("--until", "2024-06-01") == ["Figs are gone", "Figs are ripe"]
    assert texts("--until", "2024-05-31") == ["Figs are ripe"]
    assert texts("--min-confidence", "0.9") == []
    assert texts("--limit", 1, "--offset", 1) == ["Figs are ripe"]
    assert texts("--scopes", "talk", "--entity", "Faro") == ["Ines lives in Faro"]
    assert texts("--scopes", "talk", "--session", "s2", "--type", "episodic") == ["Ines: I moved to Faro."]
    assert len(texts("--scopes", "talk,global")) == len(texts("--all-scopes")) == 6


def test_scopes_are_shown_when_there_are_several(run):
    run("remember", "Figs are ripe")
    run("remember", "Figs are gone", "--scope", "garden")
    assert "scope" not in run("recall", "figs").stdout
    assert "garden" in run("recall", "figs", "--all-scopes").stdout
    assert run("recall", "figs", "--all-scopes", "--scopes", "garden").exit_code == 2


def test_explain_tells_who_says_what_and_what_bears_on_it(ask, run, story):
    faro, lagos, braga = (fact(ask, word, "active", "superseded") for word in ("Faro", "Lagos", "Braga"))
    told = ask("explain", faro["id"][:8])
    assert told["belief"]["id"] == faro["id"]
    assert told["assertions"][0]["span"] == "I moved to Faro"
    assert told["contradicted_by"] == [lagos["id"]]
    assert told["supersedes"] == [braga["id"]]
    children = {child["relation"]: child for child in told["tree"]["children"]}
    assert children["derives"]["claim"]["text"] == "I moved to Faro"
    assert told["formed"]["confidence"] == pytest.approx(told["belief"]["confidence"])
    shown = run("explain", faro["id"]).stdout
    for words in (
        "“I moved to Faro”",
        "− contradicted by Ines lives in Lagos",
        "supersedes Ines lives in Braga",
    ):
        assert words in shown


def test_explain_goes_as_deep_as_asked(ask, run, db):
    with Memory.open(db) as memory:
        ids = [
            memory.store(SemanticClaim(subject=name, predicate="is", object="so", confidence=0.6)).claim_id
            for name in ("root", "near", "far")
        ]
        memory.add_support(ids[1], ids[0])
        memory.add_support(ids[2], ids[1])
    shallow, deep = (ask("explain", ids[0], "--depth", depth) for depth in (1, 2))
    assert shallow["truncated"] and not deep["truncated"]
    assert deep["tree"]["children"][0]["children"][0]["claim"]["id"] == ids[2]
    assert "+ supported by near is so" in run("explain", ids[0]).stdout
    assert [move["caused_by"] for move in deep["moves"]] == [ids[1], ids[1]]


def test_history_begins_with_the_formation(ask, run, story):
    lagos = fact(ask, "Lagos")
    run("remember", "Ines lives in Lagos", "--source", "Nuno")
    told = ask("history", lagos["id"])
    assert told["formed"]["confidence"] != told["claim"]["confidence"]
    steps = [told["formed"]["confidence"]] + [move["to"] for move in told["moves"]]
    assert steps[-1] == told["claim"]["confidence"]
    assert [move["from"] for move in told["moves"]] == steps[:-1]
    lines = run("history", fact(ask, "Braga", "superseded")["id"]).stdout.splitlines()
    assert "formed, from Ines" in lines[2]
    assert "superseded by" in lines[-1]


def test_ids_may_be_cut_short(run, db):
    with Memory.open(db) as memory:
        for claim_id in ("abcdefgh-1", "abcdefgh-2", "abcdexyz", "same"):
            memory.store(EpisodicClaim(id=claim_id, summary=f"told {claim_id}", confidence=0.5))
        memory.storage.close()
    assert run("explain", "abcdex").exit_code == 0
    assert run("explain", "same").exit_code == 0
    for too_short in ("abcde", "sam"):
        assert run("explain", too_short).exit_code == 1
    several = run("explain", "abcdefgh")
    assert several.exit_code == 1
    assert "abcdefgh-1" in several.stderr and "abcdefgh-2" in several.stderr
    assert run("explain", "abcdex", "--scope", "other").exit_code == 1
    assert run("explain", "abcde%").exit_code == 1


# -- what a terminal is shown ------------------------------------------------------------------------------

HOSTILE = "[red]figs[/red] :smile: \x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J a\rb\nc\td \u202edlrow [/]"


def test_stored_text_is_shown_harmlessly(ask, run):
    ask("remember", HOSTILE, "--source", HOSTILE, "--scope", HOSTILE)
    claim_id = ask("list", "--scope", HOSTILE)["claims"][0]["id"]
    for args in (
        ["list", "--scope", HOSTILE],
        ["recall", "figs", "--all-scopes"],
        ["explain", claim_id, "--scope", HOSTILE],
        ["history", claim_id, "--scope", HOSTILE],
        ["forget", claim_id, "--scope", HOSTILE],
        ["doctor"],
    ):
        shown = run(*args).stdout
        assert "[red]figs[/red] :smile: red a b c d dlrow [/]" in shown, args
        assert not set(shown) & set("\x1b\x9b\x07\r\u202e"), args


def test_errors_are_harmless_too(run):
    run("init")
    shown = run("explain", "\x1b[31m" + "figs\rfigs").stderr
    assert "\x1b" not in shown and "\r" not in shown


def test_json_escapes_what_a_terminal_would_act_on(ask, run):
    ask("remember", HOSTILE)
    raw = run("list", "--json").stdout
    assert not set(raw) & set("\x1b\x9b\x07\r\u202e")
    assert json.loads(raw)["claims"][0]["text"] == HOSTILE
    assert json.loads(to_json({"é": "\x85\u2028"}, ascii_only=False)) == {"é": "\x85\u2028"}


def test_plain_keeps_what_is_text():
    for text in ("naïve café", "日本語", "👩\u200d🚀 off", "a [b] c", "don't"):
        assert plain(text) == text


def test_piped_output_is_complete(run):
    words = " ".join(f"word{number}" for number in range(300))
    run("remember", words, "--source", "a source with a very long name " * 3)
    line = next(line for line in run("list").stdout.splitlines() if "word0" in line)
    assert words in line
    assert line == line.rstrip()
    assert words in run("recall", "word7").stdout


def on_a_screen(args: list[str], db: Path, **extra: str) -> str:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "70", "RECOLLECTX_DB": str(db), **extra}
    with subprocess.Popen([*COMMAND, *args], stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert process.returncode == 0
    return shown.decode()


def test_a_screen_is_kept_to_its_width_and_coloured_unless_asked_not_to(run, db):
    run("remember", "Figs ripen late where the wind is cold, " * 5, "--source", "\x1b[2Jeve")
    plainly = on_a_screen(["list"], db, NO_COLOR="1")
    assert max(map(len, unstyle(plainly).splitlines())) <= 70
    assert "\x1b[3" not in plainly
    coloured = on_a_screen(["list"], db, NO_COLOR="")
    assert "\x1b[3" in coloured
    assert "\x1b[2J" not in coloured


# -- a process of its own ----------------------------------------------------------------------------------


def test_python_m_speaks_json_and_fails_with_1(db):
    told = subprocess.run(
        [*COMMAND, "--db", db, "init", "--json"], check=False, capture_output=True, text=True
    )
    assert (told.returncode, told.stderr) == (0, "")
    assert json.loads(told.stdout)["database"] == str(db)
    failed = subprocess.run(
        [*COMMAND, "--db", db, "forget", "abcdef"], check=False, capture_output=True, text=True
    )
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "Traceback" not in failed.stderr


def test_ctrl_c_exits_with_130_and_leaves_whole_batches(run, tmp_path, db):
    path = jsonl(
        tmp_path / "long.jsonl", [{"speaker": "Rui", "text": f"figs {n}", "time": n} for n in range(20_000)]
    )
    arguments = [*COMMAND, "--db", str(db), "ingest", str(path), "--batch", "50"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (db.exists() and _turns(db) >= 50):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert 50 <= _turns(db) < 20_000
    assert _turns(db) % 50 == 0
    assert run("doctor").exit_code == 0


def _turns(db: Path) -> int:
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as raw:
        try:
            return raw.execute("SELECT count(*) FROM rx_claims").fetchone()[0]
        except sqlite3.OperationalError:
            return 0


# -- demo --------------------------------------------------------------------------------------------------


def test_demo_tells_the_life_of_a_belief_and_leaves_nothing(ask, run, db, tmp_path):
    told = ask("demo")
    assert [chapter["happened"] for chapter in told["story"]] == [
        "formed",
        "supported",
        "contradicted",
        "superseded",
        "supported",
    ]
    answer = told["hits"][0]["claim"]
    assert told["explanation"]["belief"]["id"] == answer["id"]
    assert answer["source"] == told["story"][3]["source"]
    assert len(told["explanation"]["assertions"]) == 2
    assert told["explanation"]["contradicted_by"] and told["explanation"]["supersedes"]
    shown = run("demo").stdout
    for words in (
        "formed",
        "supported",
        "contradicted",
        "superseded",
        "+ also asserted by",
        "− contradicted by",
    ):
        assert words in shown
    assert f"“{told['story'][3]['said']}”" in shown
    assert len(shown.splitlines()) <= 40
    assert not db.exists() and not (tmp_path / "home").exists()


# -- doctor ------------------------------------------------------------------------------------------------


def checks(run) -> dict[str, bool]:
    result = run("doctor", "--json")
    told = json.loads(result.stdout)
    found = {check["check"]: check["ok"] for check in told["checks"]}
    assert told["ok"] == all(found.values())
    assert result.exit_code == (0 if told["ok"] else 1)
    return found


def test_a_healthy_database(ask, run, story, db):
    before = db.read_bytes()
    assert all(checks(run).values())
    assert "nothing is wrong" in run("doctor").stdout
    told = ask("doctor")
    assert told["disputes"] == 1
    assert {(row["type"], row["status"]): row["count"] for row in told["claims"]} == {
        ("episodic", "active"): 3,
        ("semantic", "active"): 2,
        ("semantic", "superseded"): 1,
    }
    assert told["file_bytes"] == len(before)
    assert db.read_bytes() == before


def test_doctor_reads_beside_an_open_memory(run, story, db):
    with Memory.open(db) as memory:
        memory.remember("I like figs", source="Ines")
        assert all(checks(run).values())


def test_doctor_reads_an_erased_and_revised_memory(ask, run, story, db):
    ask("erase", fact(ask, "Lagos")["id"], "--yes")
    with Memory.open(db) as memory:
        memory.update(memory.retrieve(type="semantic")[0].id, object="Tavira")
    assert all(checks(run).values())
    assert ask("doctor")["erased"] == 1


def test_doctor_finishes_an_erasure_once_nobody_reads(ask, run, story, db):
    files = (db, db.with_name(db.name + "-wal"))

    def told() -> bool:
        return any(b"marzipan" in each.read_bytes() for each in files if each.exists())

    with Memory.open(db) as memory:
        claim = memory.store(EpisodicClaim(summary="the code is marzipan")).claim_id
        with closing(sqlite3.connect(db, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM rx_texts").fetchall()
            assert memory.erase(claim).pending
            found = ask("doctor")
            assert (found["ok"], found["pending"], told()) == (True, True, True)
            assert "may still hold erased words" in run("doctor").stdout
        found = ask("doctor")
        assert (found["ok"], found["pending"], found["log_bytes"], told()) == (True, False, 0, False)


ACTIVE = "(SELECT pk FROM rx_claims WHERE type = 'semantic' LIMIT 1)"
FAULTS = {
    "UPDATE rx_claims SET strength = 0.123 WHERE type = 'semantic'": "strengths",
    "UPDATE rx_claims SET confidence = 0.123 WHERE type = 'semantic'": "confidence history",
    f"DELETE FROM rx_texts WHERE claim = {ACTIVE}": "text",
    f"UPDATE rx_revisions SET tx_to = 99 WHERE claim = {ACTIVE}": "one live revision",
    f"UPDATE rx_texts SET tokens = 'stale' WHERE claim = {ACTIVE}": "search tokens",
    f"DELETE FROM rx_claims WHERE pk = {ACTIVE}": "foreign keys",
    f"UPDATE rx_claims SET erased = 1 WHERE pk = {ACTIVE}": "erased claims",
    "UPDATE rx_claims SET erased = 1 WHERE type = 'semantic'": "edges",
    "UPDATE rx_revisions SET text = (SELECT min(pk) FROM rx_texts)": "unused wordings",
    "DELETE FROM rx_tx WHERE seq = 1": "transactions",
    "PRAGMA journal_mode = DELETE": "journal mode",
    "UPDATE recollectx_alembic_version SET version_num = '9999'": "schema",
    "DROP TABLE recollectx_alembic_version": "schema",
    "DROP TABLE rx_edges": "readable",
}


@pytest.mark.parametrize(("fault", "check"), FAULTS.items(), ids=range(len(FAULTS)))
def test_doctor_finds_a_planted_fault(run, story, db, fault, check):
    with closing(sqlite3.connect(db, isolation_level=None)) as raw:
        raw.execute("PRAGMA foreign_keys = OFF")
        raw.execute(fault)
    assert checks(run)[check] is False
    assert "WRONG" in run("doctor").stdout


def test_doctor_finds_a_torn_page(run, story, db):
    raw = bytearray(db.read_bytes())
    raw[4096 * 3 : 4096 * 9] = bytes(4096 * 6)
    db.write_bytes(raw)
    assert not all(checks(run).values())
