import kill_writer
from conftest import event, fact

from recollectx import Memory

RUNS = 10


def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path):
    total, faults = kill_writer.kill_many(RUNS, seed=7, folder=tmp_path)
    assert not faults
    assert total >= RUNS


def test_the_inspection_notices_what_is_lost(path):
    with Memory.open(path) as memory:
        one, two = memory.store_many([event("number1"), fact("number2")])
        assert kill_writer.inspect(path, [["stored", one.claim_id, "number1"]]).faults == []
    noticed = kill_writer.inspect(
        path,
        [
            ["stored", "an id that is not there", "number1"],
            ["stored", one.claim_id, "nosuchword"],
            ["forgot", two.claim_id],
            ["linked", one.claim_id, two.claim_id],
        ],
    )
    assert len(noticed.faults) == 4
