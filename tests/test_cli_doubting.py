"""The commands about doubt, on a memory of their own."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import event, fact

from recollectx import Memory
from recollectx.cli.app import app

NASTY = "bitter\x1b[31m[bold]"


@pytest.fixture
def ids(path: Path) -> dict[str, str]:
    """A belief, a rival as strong, what derives from it, and an answer given on it."""
    with Memory.open(path) as memory:
        found = {
            name: str(memory.store(claim).claim_id)
            for name, claim in {
                "sweet": fact("sweet", "ana"),
                "rival": fact(NASTY, "bob"),
                "derived": fact("nice", basis="derived", subject="pot"),
                "friend": fact("sugar", "carl", subject="cup", predicate="holds"),
                "again": fact("honey", "carl", subject="cup", predicate="holds"),
                "turn": event("Ana said that tea is sweet", "ana"),
            }.items()
        }
        memory.add_contradiction(found["rival"], found["sweet"])
        memory.add_support(found["friend"], found["sweet"])
        memory.add_support(found["again"], found["sweet"])
        memory.relate(found["sweet"], found["derived"], "derives")
        found["trace"] = memory.traces.record(memory.recall("sweet"), "Sweet.\x1b[2J", {"model": "m"})
    return found


@pytest.fixture
def run(path: Path):
    def call(*args: object) -> Result:
        result = CliRunner().invoke(app, ["--db", str(path), *map(str, args)])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "\x1b" not in result.output
        return result

    return call


@pytest.fixture
def ask(run):
    def call(*args: object):
        result = run(*args, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return call


def test_what_if_foretells_and_changes_nothing(ids, run, ask):
    before = ask("list")
    told = ask("what-if", "--withdraw", ids["rival"][:8])
    moves = {move["id"]: move for move in told["moves"]}
    assert moves[ids["rival"]]["new_status"] == "retired"
    assert moves[ids["sweet"]]["to"] > moves[ids["sweet"]]["from"]
    assert ask("list") == before
    shown = run("what-if", "--retract", "ana", "--trust", "carl=0.1").stdout
    assert "retired" in shown
    assert "unsupported" in shown
    assert "Nothing would move" in run("what-if", "--trust", "nobody=0.2").stdout
    assert run("what-if").exit_code == 2
    assert run("what-if", "--trust", "ana=2").exit_code == 2


def test_impact_tells_what_rests_on_a_claim(ids, run, ask):
    told = ask("impact", ids["sweet"])
    assert [move["id"] for move in told["derived"]] == [ids["derived"]]
    assert [move["id"] for move in told["contradicted"]] == [ids["rival"]]
    assert [answer["id"] for answer in told["answers"]] == [ids["trace"]]
    shown = run("impact", ids["sweet"]).stdout
    assert "unsupported" in shown
    assert "Sweet." in shown
    assert "Nothing rests on it" in run("impact", ids["derived"]).stdout


def test_traces_lists_and_explains(ids, run, ask):
    (trace,) = ask("traces")["traces"]
    assert (trace["question"], trace["metadata"], trace["erased"]) == ("sweet", {"model": "m"}, False)
    told = ask("traces", ids["trace"])
    assert told["used"][0]["then"]["confidence"] == told["used"][0]["claim"]["confidence"]
    assert told["used"][0]["changed"] is False
    run("forget", ids["sweet"])
    shown = run("traces", ids["trace"]).stdout
    assert "now retired" in shown
    assert len(ask("traces", "--using", ids["sweet"][:8])["traces"]) == 1
    assert ask("traces", "--using", ids["derived"])["traces"] == []
    assert run("traces", ids["trace"], "--using", ids["sweet"]).exit_code == 2
    assert run("traces", "nowhere").exit_code == 1
    run("erase", ids["sweet"], "--yes")
    assert "(erased)" in run("traces").stdout
    assert "Sweet." not in run("traces").stdout


def test_disputes_are_listed_and_closed(ids, run, ask):
    (dispute,) = ask("disputes")["disputes"]
    assert {dispute["claim"]["id"], dispute["rival"]["id"]} == {ids["sweet"], ids["rival"]}
    assert "bitter" in run("disputes").stdout
    assert ask("recall", "tea")["hits"][0]["disputes"]
    told = ask("resolve", ids["sweet"], "--reason", "asked")
    assert told == {"kept": ids["sweet"], "dropped": ids["rival"], "reason": "asked", "tx": 12}
    assert "Nothing is in dispute" in run("disputes").stdout
    assert run("resolve", ids["sweet"]).exit_code == 1


def test_confirmations_are_scored(ids, run, ask):
    assert "Too few" in run("calibration").stdout
    assert ask("confirm", ids["friend"]) == {"id": ids["friend"], "confirmed": True, "tx": 12}
    assert "confirmed" in run("confirm", ids["turn"]).stdout
    run("resolve", ids["sweet"], "--drop", ids["rival"])
    told = ask("calibration")
    assert (told["outcomes"], told["corrected"], told["enough"]) == (3, 1, False)
    assert sum(each["count"] for each in told["bins"]) == 3
    assert "Brier" in run("calibration").stdout


def test_explain_shows_amounts_and_draws(ids, run, ask):
    shown = run("explain", ids["sweet"]).stdout
    assert "not counted: same source as" in shown
    assert " +0." in shown
    assert " −" in shown
    tree = ask("explain", ids["sweet"])["tree"]
    edges = sum(child["contribution"] for child in tree["children"])
    witnesses = sum(each["amount"] for each in tree["witnesses"])
    assert tree["start"] + edges + witnesses == pytest.approx(tree["x"], abs=1e-9)
    assert run("explain", ids["sweet"], "--format", "dot").stdout.startswith("digraph")
    assert run("explain", ids["sweet"], "--format", "mermaid").stdout.startswith("flowchart")
    assert run("explain", ids["sweet"], "--format", "png").exit_code == 2


def test_recall_warns_when_nothing_fits(ids, run, ask):
    told = ask("recall", "sugar factory opening hours")
    assert (told["nothing_fits"], len(told["hits"])) == (True, 1)
    assert "may not be known" in run("recall", "sugar factory opening hours").stderr
    assert ask("recall", "tea tastes sweet")["nothing_fits"] is False


def test_every_write_says_which_transaction_to_undo(ids, run, ask, path):
    with Memory.open(path) as memory:
        begun = memory.last_tx()
    steps = [
        ("remember", "Tea is warm", "--source", "dora"),
        ("trust", "dora", "0.4"),
        ("confirm", ids["sweet"]),
        ("retract", "dora"),
        ("forget", ids["friend"]),
        ("resolve", ids["sweet"], "--drop", ids["rival"]),
    ]
    for tx, step in enumerate(steps, begun + 1):
        told = ask(*step)
        assert told.get("tx", told.get("results", [{}])[0].get("tx")) == tx
    for tx in range(begun + len(steps), begun, -1):
        assert ask("undo", tx)["undone"] == tx
    for tx, step in enumerate(steps, begun + 2 * len(steps) + 1):
        assert f"transaction {tx}" in run(*step).stdout
    (event,) = (each for each in ask("timeline")["events"] if each["seq"] == begun + 3)
    assert (event["kind"], event["what"], event["claim_id"]) == ("confirm", "confirmed", ids["sweet"])
    shown = run("timeline").stdout
    assert shown.startswith("tx ")
    assert f"\n{begun + 3} " in shown


def test_doctor_finds_nothing_wrong_after_all_that(ids, run):
    run("confirm", ids["friend"])
    run("resolve", ids["sweet"])
    run("erase", ids["rival"], "--yes")
    assert run("doctor").exit_code == 0
