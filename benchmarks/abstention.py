"""Asks about facts that were told and about others that never were, and counts how often recall says so.

    python benchmarks/abstention.py [--embedder none|local] [--out FILE.json]

The store holds 200 facts: ten about each of twenty people. Asked are 400 questions that one of them answers, half in
the words of the fact and half in others, and 360 that none does: near ones (a known person, something never told of
them), ones about people nobody mentioned, and ones about something else altogether. Prints, for the relevance that a Recall gives, the AUROC of the two kinds (1 is
perfect, .5 is chance) and, at its threshold, how often an answerable question is turned away and how often an
unanswerable one is not; also how often the fact itself came first.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recollectx import Memory, SemanticClaim
from recollectx.embeddings import embedder_from

PEOPLE = [
    "Agnes",
    "Bertil",
    "Chiara",
    "Dmitri",
    "Elif",
    "Farid",
    "Greta",
    "Hamza",
    "Ingrid",
    "Jomo",
    "Katya",
    "Lorenzo",
    "Mireille",
    "Nuno",
    "Oksana",
    "Piotr",
    "Quentin",
    "Rosalind",
    "Sanjay",
    "Thandi",
]
STRANGERS = [
    "Ulrich",
    "Valeria",
    "Wendell",
    "Xiomara",
    "Yusuf",
    "Zelda",
    "Anselm",
    "Beatriz",
    "Corwin",
    "Dalia",
    "Edmund",
    "Fenna",
    "Gaspar",
    "Hedwig",
    "Ivo",
    "Jolanda",
    "Kasper",
    "Leocadia",
    "Magnus",
    "Nerys",
]

# What is told, what is asked in its words and in others, and a value for each of the people in turn.
KINDS: tuple[tuple[str, str, str, str], ...] = (
    (
        "{} lives in {}.",
        "Where does {} live?",
        "Which town is {} at home in?",
        "Trieste,Umeå,Lucca,Perm,Izmir,Fez,Kiel,Multan,Bergen,Nakuru,Tver,Bari,Lyon,Porto,Lviv,Gdynia,Namur,Bath,Pune,Durban",
    ),
    (
        "{} works as a {}.",
        "What does {} work as?",
        "What does {} do for a living?",
        "tiler,midwife,notary,welder,florist,surveyor,baker,pharmacist,diver,teacher,tailor,luthier,judge,sailor,dentist,miner,brewer,archivist,optician,ranger",
    ),
    (
        "{} is allergic to {}.",
        "What is {} allergic to?",
        "Is there any food {} must avoid?",
        "walnuts,celery,shrimp,eggs,sesame,lupin,mustard,peaches,hazelnuts,soy,kiwi,almonds,mussels,gluten,milk,fish,apples,cashews,lentils,strawberries",
    ),
    (
        "{} has a {} called Biscuit.",
        "What kind of animal is {}'s Biscuit?",
        "What pet does {} keep?",
        "ferret,tortoise,parrot,greyhound,tabby cat,hamster,goat,canary,rabbit,donkey,gecko,spaniel,iguana,pony,terrier,duck,hedgehog,corgi,macaw,mastiff",
    ),
    (
        "{} plays the {} in the evenings.",
        "What does {} play in the evenings?",
        "Which instrument can {} perform on?",
        "cello,oboe,zither,balalaika,oud,drums,tuba,sitar,harp,kora,violin,mandolin,accordion,guitar,bandura,trumpet,organ,viola,tabla,marimba",
    ),
    (
        "{} drives a {} car.",
        "What car does {} drive?",
        "What colour is the vehicle of {}?",
        "green,silver,red,beige,white,blue,yellow,black,orange,brown,purple,grey,turquoise,maroon,gold,pink,bronze,navy,cream,lilac",
    ),
    (
        "{} studied {} at university.",
        "What did {} study at university?",
        "What subject is the degree of {} in?",
        "geology,Latin,law,physics,botany,medicine,drama,statistics,theology,history,chess theory,music,philosophy,economics,astronomy,chemistry,classics,linguistics,genetics,forestry",
    ),
    (
        "{} takes {} before bed.",
        "What does {} take before bed?",
        "What medicine is {} on?",
        "melatonin,aspirin,magnesium,insulin,statins,ibuprofen,zinc,codeine,iron tablets,antacids,valerian,vitamin D,lithium,warfarin,cortisone,quinine,thyroxine,metformin,folate,potassium",
    ),
    (
        "{} was married in {}.",
        "What year was {} married in?",
        "When was the wedding of {}?",
        ",".join(str(year) for year in range(1984, 2024, 2)),
    ),
    (
        "{} supports the {} football club.",
        "What football club does {} support?",
        "Which team does {} cheer for?",
        "Harbour,Northgate,Rovers,Dynamo,Lions,Atlas,Holstein,Falcons,Vikings,Gazelles,Spartak,Albatross,Phoenix,Dragons,Karpaty,Arka,Union,Wanderers,Tigers,Sharks",
    ),
    (
        "{} is training for a {}.",
        "What is {} training for?",
        "What sports event is {} preparing for?",
        "marathon,triathlon,regatta,biathlon,relay,duathlon,decathlon,rally,ski race,trail run,swim meet,cycle tour,fencing cup,surf contest,rowing race,judo final,pentathlon,croquet final,polo match,half marathon",
    ),
    (
        "{} collects {}.",
        "What does {} collect?",
        "What are the shelves of {} full of?",
        "stamps,corks,fossils,icons,tiles,carpets,mugs,coins,troll dolls,masks,samovars,fountain pens,posters,azulejos,thimbles,amber,comics,teapots,puppets,beads",
    ),
    (
        "{} fears {}.",
        "What does {} fear?",
        "What scares {}?",
        "heights,spiders,thunder,wolves,lifts,snakes,needles,crowds,moths,deep water,clowns,flying,wasps,darkness,mice,tunnels,bats,ghosts,tigers,bridges",
    ),
    (
        "{} was taught to cook by {}.",
        "Who taught {} to cook?",
        "Who showed {} how to make meals?",
        "an aunt,a monk,a neighbour,a sailor,a grandmother,an uncle,a nurse,a stepfather,a cousin,a priest,a landlady,a brother,a nun,a fisherman,a teacher,a soldier,a chef,a butler,a sister,a guide",
    ),
)
ELSEWHERE = [
    "How tall is the tower in the harbour?",
    "When does the library open on Sundays?",
    "What is the password of the router?",
    "Which planet has the most moons?",
    "How many eggs go into the sponge?",
    "Who painted the ceiling of the chapel?",
    "What was the invoice number of the printer?",
    "Is the lift repaired yet?",
    "How far is it to the airport?",
    "What does the contract say about notice periods?",
    "Which bus goes to the stadium?",
    "Who won the election?",
    "What is the boiling point of mercury?",
    "When is the rent due?",
    "Which flight did we book to Lima?",
    "How do I reset the thermostat?",
    "What was discussed in the board meeting?",
    "Where are the spare keys?",
    "Which vaccine is needed for Kenya?",
    "What is the warranty on the washing machine?",
    "Who wrote that novel about whales?",
    "How long should rice simmer?",
    "What is the capital of Paraguay?",
    "When was the roof last inspected?",
    "Which port does the server listen on?",
    "What did the plumber charge?",
    "Is there parking near the theatre?",
    "How many chairs are in the hall?",
    "Which battery fits the smoke alarm?",
    "What is the deadline for the tax return?",
    "Who is the landlord's lawyer?",
    "Does the train stop in Essen?",
    "What was the exchange rate last week?",
    "Where was the picnic last summer?",
    "Which key opens the cellar?",
    "How heavy may the parcel be?",
    "What is the wifi called at the cabin?",
    "When do the clocks change?",
    "Who fixed the bicycle?",
    "What time does the pharmacy close?",
]


def material() -> tuple[list[str], list[tuple[str, int]], list[tuple[str, str]]]:
    """The facts, the questions with the place of the fact that answers each, and those without an answer by kind."""
    facts, asked, unanswerable = [], [], []
    for place, person in enumerate(PEOPLE):
        # Ten of the kinds are told of each of them, others of each.
        told = {(place * 3 + step) % len(KINDS) for step in range(10)}
        for number, (fact, *questions, values) in enumerate(KINDS):
            worded = [question.format(person) for question in questions]
            if number in told:
                asked += [(question, len(facts)) for question in worded]
                facts.append(fact.format(person, values.split(",")[place]))
            else:
                unanswerable += [("untold", question) for question in worded]
        for number in range(4):
            questions = KINDS[(place + number * 3) % len(KINDS)][1:3]
            unanswerable += [("stranger", question.format(STRANGERS[place])) for question in questions]
    unanswerable += [("elsewhere", question) for question in ELSEWHERE]
    return facts, asked, unanswerable


def auroc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """The chance that one of `right` lies above one of `wrong`, a tie being half."""
    above = sum((one > other) + 0.5 * (one == other) for one in right for other in wrong)
    return above / (len(right) * len(wrong))


def measure(embedder: Any) -> dict[str, Any]:
    """The figures, and every question with its relevance."""
    facts, asked, unanswerable = material()
    rows = []
    with Memory.open(":memory:", embedder=embedder, extractor=None) as memory:
        ids = [
            result.claim_id for result in memory.store_many([SemanticClaim.from_text(fact) for fact in facts])
        ]
        for kind, question, place in [("told", text, at) for text, at in asked] + [
            (kind, text, -1) for kind, text in unanswerable
        ]:
            found = memory.recall(question, k=10)
            first = found.hits[0] if found.hits else None
            rows.append(
                {
                    "kind": kind,
                    "question": question,
                    "relevance": found.relevance,
                    "nothing_fits": found.nothing_fits,
                    "share": max((hit.parts.share or 0.0 for hit in found), default=0.0),
                    "cosine": max((hit.parts.cosine or 0.0 for hit in found), default=0.0),
                    "right": first is not None and place >= 0 and first.claim.id == ids[place],
                }
            )
    told = [row for row in rows if row["kind"] == "told"]
    figures: dict[str, Any] = {
        "facts": len(facts),
        "told": len(told),
        "first": sum(row["right"] for row in told) / len(told),
        "turned_away": sum(row["nothing_fits"] for row in told) / len(told),
    }
    for kind in ("untold", "stranger", "elsewhere", None):
        others = [row for row in rows if row["kind"] == kind or (kind is None and row["kind"] != "told")]
        figures[kind or "all"] = {
            "n": len(others),
            "let_through": sum(not row["nothing_fits"] for row in others) / len(others),
            **{
                part: auroc([row[part] for row in told], [row[part] for row in others])
                for part in ("relevance", "share", "cosine")
            },
        }
    return {**figures, "rows": rows}


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--embedder", default="none", help="none, or as embedder_from names them")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    embedder = None if options.embedder == "none" else embedder_from(options.embedder)
    found = measure(embedder)
    print(f"{options.embedder}: {found['facts']} facts; {found['told']} questions about them")
    print(f"the fact itself came first: {found['first']:.3f}; turned away: {found['turned_away']:.3f}")
    for kind in ("untold", "stranger", "elsewhere", "all"):
        row = found[kind]
        print(
            f"{kind:10} {row['n']:4}  let through {row['let_through']:.3f}  AUROC {row['relevance']:.3f}"
            f"  (share alone {row['share']:.3f}, cosine alone {row['cosine']:.3f})"
        )
    if options.out:
        options.out.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
