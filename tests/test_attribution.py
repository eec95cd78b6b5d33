"""What each edge and each witness adds, and the pictures of it."""

import html
import json
import re
import shutil
import subprocess
from itertools import count

import pytest
from conftest import fact
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from recollectx import Edge, LogOdds, Memory, PropagationConfig
from recollectx.changes import Link
from recollectx.graph.explanation import ExplanationResult
from recollectx.graph.pictures import signed, to_dict, to_dot, to_mermaid

SIZE = 6
RULES = [LogOdds(), LogOdds(symmetric_contradiction=False), PropagationConfig()]
WORLDS = {str(rule): Memory.open(":memory:", rule=rule) for rule in RULES}
fresh_names = count()


def nodes(found: ExplanationResult):
    waiting = [found.root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children


def sum_of(node) -> float:
    edges = sum(child.contribution for child in node.children)
    return node.start + edges + sum(each.amount for each in node.witnesses) + (node.returned or 0.0)


places = st.integers(0, SIZE - 1)
shares = st.sampled_from([0.0, 0.05, 0.3, 0.5, 0.8, 0.99, 1.0])
said = st.lists(
    st.tuples(places, st.sampled_from([None, "ana", "bob", "carl", "dora"]), shares), max_size=3 * SIZE
)
relations = st.sampled_from(["supports", "contradicts", "derives", "corrects", "caused"])
joined = st.lists(
    st.tuples(
        places, places, relations, st.sampled_from([0.25, 1.0]), st.sampled_from([None, "both"])
    ).filter(lambda edge: edge[0] != edge[1]),
    max_size=14,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(RULES),
    said,
    joined,
    st.dictionaries(st.sampled_from(["ana", "bob"]), shares),
    places,
    st.booleans(),
)
def test_start_and_contributions_sum_to_where_a_claim_stands(rule, said, joined, levels, asked, derived):
    memory = Memory(WORLDS[str(rule)].storage, scope=f"example {next(fresh_names)}")
    ids = [
        memory.store(
            fact(
                "so",
                f"own {place}",
                subject=f"thing {place}",
                confidence=0.6,
                basis="derived" if derived and place % 2 else "asserted",
            )
        ).claim_id
        for place in range(SIZE)
    ]
    for place, source, confidence in said:
        memory.store(fact("so", source, subject=f"thing {place}", confidence=confidence))
    links = [
        Link(Edge(ids[src], ids[dst], relation, strength, name if relation == "derives" else None))
        for src, dst, relation, strength, name in joined
    ]
    memory.storage.apply(links, cause="fill")
    for source, level in levels.items():
        memory.trust(source, level)
    memory.forget(ids[SIZE - 1])
    found = memory.explain_deep(ids[asked], max_depth=SIZE)
    assert found.truncated is False
    for node in nodes(found):
        if node.repeated:
            assert (node.start, node.x, node.whole) == (None, None, False)
            continue
        assert node.whole
        assert sum_of(node) == pytest.approx(node.x, abs=1e-9)
        for child in node.children:
            assert child.counted or (child.contribution == 0.0 and child.why_not)
    assert (found.root.contribution, found.root.relation) == (None, None)


def test_a_node_whose_edges_were_cut_off_says_so(memory):
    top, middle, ground = (memory.store(fact(word, word)).claim_id for word in ("top", "middle", "ground"))
    memory.add_support(middle, top)
    memory.add_support(ground, middle)
    found = memory.explain_deep(top, max_depth=1)
    (child,) = found.root.children
    assert (found.root.whole, child.whole, found.truncated) == (True, False, True)
    assert sum_of(found.root) == pytest.approx(found.root.x, abs=1e-9)
    assert child.x > sum_of(child)


def test_one_source_counts_once_and_the_other_says_why_not(memory):
    top = memory.store(fact("sweet", "ana", confidence=0.6)).claim_id
    strong = memory.store(fact("strong", "bob", confidence=0.9)).claim_id
    weak = memory.store(fact("weak", "bob", confidence=0.7)).claim_id
    own = memory.store(fact("own", "ana")).claim_id
    for src in (strong, weak, own):
        memory.add_support(src, top)
    found = {node.belief.id: node for node in memory.explain_deep(top).root.children}
    assert found[strong].counted
    assert found[strong].contribution > 0
    assert (found[weak].counted, found[weak].contribution) == (False, 0.0)
    assert found[weak].why_not == "same source as “tea tastes strong”"
    assert found[own].why_not == "same source as the claim's own"


def test_two_derivations_from_one_claim_are_told_apart(memory):
    top, premise = (memory.store(fact(word, word)).claim_id for word in ("sweet", "ripe"))
    for name in (None, "by taste"):
        memory.relate(premise, top, "derives", strength=0.25, derivation=name)
    root = memory.explain_deep(top).root
    assert [child.counted for child in root.children] == [True, False]
    assert sum_of(root) == pytest.approx(root.x, abs=1e-9)


def test_sources_trusted_little_share_one_voice_and_are_not_called_the_same(memory):
    top = memory.store(fact("sweet", "l0", confidence=0.9)).claim_id
    memory.store(fact("sweet", "l1", confidence=0.8))
    against = [memory.store(fact(f"bitter {name}", name)).claim_id for name in ("l2", "l3")]
    for name in ("l0", "l1", "l2", "l3"):
        memory.trust(name, 0.2)
    for src in against:
        memory.add_contradiction(src, top)
    root = memory.explain_deep(top).root
    shared = "shares the one voice of sources trusted below 0.5"
    assert [each.why_not for each in root.witnesses] == [shared]
    assert sorted(child.why_not for child in root.children) == ["", shared]


def test_witnesses_stand_on_the_claim_they_assert(memory):
    top = memory.store(fact("sweet", "ana", confidence=0.9)).claim_id
    memory.store(fact("sweet", "bob", confidence=0.6))
    memory.store(fact("sweet", "carl", confidence=0.5))
    memory.trust("carl", 0.0)
    witnesses = {each.source: each for each in memory.explain_deep(top).root.witnesses}
    assert set(witnesses) == {"bob", "carl"}
    assert witnesses["bob"].amount > 0
    assert (witnesses["bob"].confidence, witnesses["bob"].trust, witnesses["bob"].counted) == (0.6, 1.0, True)
    assert (witnesses["carl"].counted, witnesses["carl"].amount) == (False, 0.0)
    assert "trusted" in witnesses["carl"].why_not


def test_a_contradiction_counts_against_both_and_is_laid_out_once(memory):
    one, two = (memory.store(fact(word, word)).claim_id for word in ("one", "two"))
    memory.add_contradiction(one, two)
    (child,) = memory.explain_deep(one).root.children
    assert child.contribution < 0
    assert child.children == ()
    assert child.returned == pytest.approx(child.contribution, abs=1e-9)
    assert child.whole


def test_a_plain_relation_adds_nothing_and_says_so(memory):
    one, two = (memory.store(fact(word, word)).claim_id for word in ("one", "two"))
    memory.relate(one, two, "caused")
    (child,) = memory.explain_deep(two).root.children
    assert (child.contribution, child.counted) == (0.0, False)
    assert child.why_not == "caused does not move confidence"


def test_the_number_of_queries_grows_with_depth_by_one_a_level(memory):
    ids = [memory.store(fact(str(each), f"source {each}")).claim_id for each in range(30)]
    for src, dst in zip(ids[1:], ids, strict=False):
        memory.add_support(src, dst)
    for src in ids[20:]:
        memory.add_support(src, ids[0])
    asked: list[str] = []

    @event.listens_for(memory.storage.database.engine, "before_cursor_execute")
    def note(_conn, _cursor, statement, *_):
        asked.append(statement)

    counts = []
    for depth in (1, 4, 8):
        asked.clear()
        memory.explain_deep(ids[0], max_depth=depth)
        walked = [
            each for each in asked if "rx_edges" in each and " OR rx_edges.src IN" in each.replace("(", "")
        ]
        told = [each for each in asked if "rx_texts" in each]
        assert len(walked) == depth + 1
        assert len(told) == 1
        counts.append(len(asked) - len(walked))
    assert len(set(counts)) == 1


NASTY = 'x"]; n0 --> n9 %% \\" <b>bold</b> \x1b[31m | #quot; `end`\nsubgraph $$x^2$$ &lt; \\N'


@pytest.fixture
def pictured(memory) -> ExplanationResult:
    top = memory.store(fact("sweet", "ana")).claim_id
    nasty = memory.store(fact(NASTY, "bob", subject='quo"te')).claim_id
    gone = memory.store(fact("gone", "carl")).claim_id
    twice = memory.store(fact("twice", "bob")).claim_id
    memory.add_contradiction(nasty, top)
    memory.add_support(gone, top)
    memory.add_contradiction(twice, top)
    memory.relate(twice, gone, 'ca"used')
    memory.forget(gone)
    return memory.explain_deep(top)


def test_dot_is_one_graph_whatever_the_claims_say(pictured):
    picture = to_dot(pictured)
    lines = picture.splitlines()
    assert (lines[0], lines[-1]) == ("digraph explanation {", "}")
    assert "\x1b" not in picture
    assert len([line for line in lines if line.startswith("  n") and "->" not in line.split("[")[0]]) - 1 == 4
    assert len([line for line in lines if "->" in line.split("[")[0]]) == 4
    # Only the first and the last quote of a label are bare.
    for line in lines[3:-1]:
        assert line.replace("\\\\", "").replace('\\"', "").count('"') % 2 == 0
    assert "not counted: same source as" in picture.replace("\\n", " ")
    assert "dashed" in picture


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_it(pictured):
    drawn = subprocess.run(
        ["dot", "-Tplain"], input=to_dot(pictured), capture_output=True, text=True, check=True, timeout=60
    )
    assert len([line for line in drawn.stdout.splitlines() if line.startswith("node ")]) == 4


@pytest.fixture
def crowded(memory) -> ExplanationResult:
    """A claim with 21 others around it, most of them by a relation that moves nothing, and each with one more."""
    hub = memory.store(fact("of a rather long list of things", "ana")).claim_id
    for number in range(21):
        words = f"of rain & a warehouse on the {number}th &lt; bank of the river"
        src = memory.store(fact(words, "bob")).claim_id
        memory.relate(src, hub, "supports" if number % 3 == 0 else "owns")
        memory.add_support(memory.store(fact(f"of {number}", "carl")).claim_id, src)
    return memory.explain_deep(hub, max_depth=1)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_a_crowd_on_a_page_with_the_words_as_they_are(crowded):
    drawn = subprocess.run(
        ["dot", "-Tsvg"], input=to_dot(crowded), capture_output=True, text=True, check=True, timeout=60
    ).stdout
    tall, wide = (float(re.search(rf'{name}="(\d+)pt"', drawn)[1]) for name in ("height", "width"))
    assert wide < 1_500
    assert tall < 3_000
    shown = " ".join(html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", drawn))
    assert "&lt; bank" in shown.replace("\xa0", " ")
    assert "more is not shown" in shown.replace("\xa0", " ")


@pytest.mark.parametrize("draw", [to_dot, to_mermaid])
def test_a_picture_breaks_lines_says_nothing_twice_and_tells_what_it_leaves_out(crowded, pictured, draw):
    picture = draw(crowded)
    for label in re.findall(r'(?:label=|\[|\|)"([^"]+)"', picture):
        lines = label.replace("<br/>", "\\n").split("\\n")
        assert max(len(html.unescape(re.sub(r"#(\d+);", r"&#\1;", line))) for line in lines) <= 30
    assert "owns does not" not in picture
    assert "owns not counted: does not" in picture
    assert picture.count("more is not shown") == 1
    assert len(re.findall(r"\n  more (?:->|-\.->) n\d+", picture)) == 21
    assert "more is not shown" not in draw(pictured)


def test_mermaid_labels_hold_no_character_with_a_meaning(pictured):
    lines = to_mermaid(pictured).splitlines()
    assert lines[0] == "flowchart RL"
    boxes = [line for line in lines if line.endswith(("confident", "unsure", "doubtful", "unused"))]
    assert len(boxes) == 4
    for line in boxes:
        label = line[line.index('["') + 2 : line.rindex('"]:::')].replace("<br/>", "")
        assert not set(label) & set("\"'`<>[]{}()|\\%$\x1b\n")
    arrows = [line for line in lines if '|"' in line]
    assert len(arrows) == 4
    assert all(line.count('"') == 2 for line in arrows)


def test_a_dict_says_all_of_it(pictured):
    told = json.loads(json.dumps(to_dict(pictured)))
    assert told["total_nodes"] == 4
    assert told["tree"]["claim"]["id"] == pictured.root.belief.id
    assert [child["contribution"] for child in told["tree"]["children"]] == [
        child.contribution for child in pictured.root.children
    ]
    assert told["tree"]["start"] == pictured.root.start


def test_amounts_are_written_with_their_sign():
    assert (signed(0.4249), signed(-0.31)) == ("+0.42", "−0.31")
