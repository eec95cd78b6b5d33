"""Everyday ways to say the common facts, and sentences that only look like them."""

import pytest

from recollectx.extractors import Finding, PhraseExtractor, Turn


def find(text: str, speaker: str | None = "Ana") -> list[Finding]:
    return PhraseExtractor().find(Turn(text, speaker, 1_700_000_000.0, None, None))


def facts(text: str, speaker: str | None = "Ana") -> list[tuple[str, str, str]]:
    return [
        (found.claim.subject, found.claim.predicate, found.claim.object)
        for found in find(text, speaker)
        if not found.denied
    ]


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("Home is Porto for me.", "lives_in", "Porto"),
        ("Home for me is now Braga", "lives_in", "Braga"),
        ("These days I live in Faro", "lives_in", "Faro"),
        ("Since May I've been living in Faro", "lives_in", "Faro"),
        ("I've lived in Lagos for ten years", "lives_in", "Lagos"),
        ("I've lived in Lagos all my life", "lives_in", "Lagos"),
        ("I'm based in Berlin", "lives_in", "Berlin"),
        ("I'm now settled in Tomar", "lives_in", "Tomar"),
        ("We moved to Viseu last week", "lives_in", "Viseu"),
        ("We live in Aveiro now, right by the canal", "lives_in", "Aveiro"),
        ("We're settled in Coimbra, all boxes unpacked", "lives_in", "Coimbra"),
        ("I rent a small flat in Sintra, near the station", "lives_in", "Sintra"),
        ("I have a room in Evora", "lives_in", "Evora"),
        ("I call Lisbon home", "lives_in", "Lisbon"),
        ("Porto is where I live now", "lives_in", "Porto"),
        ("The city I live in is Graz", "lives_in", "Graz"),
        ("My flat is in Graz", "lives_in", "Graz"),
        ("I said Porto, but it is Braga where I live.", "lives_in", "Braga"),
        ("I'm back in Porto for good", "lives_in", "Porto"),
        ("I no longer live in Rome, but in Turin", "lives_in", "Turin"),
        ("I left Rome and moved to Turin", "lives_in", "Turin"),
        ("From now on I live in Turin", "lives_in", "Turin"),
        ("Last month I moved house to Turin", "lives_in", "Turin"),
        ("They hired me as a librarian.", "works_as", "a librarian"),
        ("I got hired as a cook last week", "works_as", "a cook"),
        ("I earn my living as a tailor", "works_as", "a tailor"),
        ("I make a living as a potter", "works_as", "a potter"),
        ("Monday was my first day as a librarian", "works_as", "a librarian"),
        ("I took a job as a courier", "works_as", "a courier"),
        ("I've been a nurse for ten years", "works_as", "a nurse"),
        ("I've been working as a welder since March", "works_as", "a welder"),
        ("I was promoted to head chef", "works_as", "head chef"),
        ("I retrained as a midwife", "works_as", "a midwife"),
        ("I switched to working as a florist", "works_as", "a florist"),
        ("I said nurse, but plumber is what I work as", "works_as", "a plumber"),
        ("Not a nurse: I work as a baker", "works_as", "a baker"),
        ("My new job is bus driver", "works_as", "a bus driver"),
        ("I no longer work as a cook but as a baker", "works_as", "a baker"),
        ("I quit my job and now work as a gardener", "works_as", "a gardener"),
        ("I work for the company Helvia.", "works_at", "Helvia"),
        ("I work for a small company called Helvia", "works_at", "Helvia"),
        ("I'm employed by Helvia", "works_at", "Helvia"),
        ("I was hired by Helvia in spring", "works_at", "Helvia"),
        ("I landed a job at Helvia", "works_at", "Helvia"),
        ("I started at Helvia on Monday", "works_at", "Helvia"),
        ("Today was my first day at Helvia", "works_at", "Helvia"),
        ("Helvia is where I work these days", "works_at", "Helvia"),
        ("The company I work for is Helvia", "works_at", "Helvia"),
        ("I changed companies, Helvia is my employer now", "works_at", "Helvia"),
        ("I said Ostra, but it is Helvia that I work for", "works_at", "Helvia"),
        ("I've been working for Helvia since June", "works_at", "Helvia"),
        ("I switched to project Orchard today.", "current_project", "Orchard"),
        ("I'm on project Orchard now", "current_project", "Orchard"),
        ("I'm working on the Orchard project", "current_project", "Orchard"),
        ("They put me on project Orchard", "current_project", "Orchard"),
        ("I was assigned to project Orchard", "current_project", "Orchard"),
        ("I spend my days on project Orchard", "current_project", "Orchard"),
        ("My current project is Meridian now", "current_project", "Meridian"),
        ("I have a new goal, to keep bees.", "goal", "to keep bees"),
        ("What I want most is to write a play.", "goal", "to write a play"),
        ("My goal has changed, I want to build a canoe", "goal", "to build a canoe"),
        ("My goal now is to sleep well", "goal", "to sleep well"),
        ("I've set my heart on building a canoe", "goal", "building a canoe"),
        ("I want to learn Danish", "goal", "to learn Danish"),
        ("I aim to finish my thesis by June", "goal", "to finish Ana's thesis by June"),
        ("My ambition is to see Iceland", "goal", "to see Iceland"),
        ("I went back to my old goal, to restore a piano", "goal", "to restore a piano"),
        ("You can reach me on 555-0158.", "phone_number", "555-0158"),
        ("Please call me at +351 555 0158", "phone_number", "+351 555 0158"),
        ("I have a new phone, the number is 555-0158", "phone_number", "555-0158"),
        ("My mobile number is 555-0158", "phone_number", "555-0158"),
        ("Please call 555-0158 from now on", "phone_number", "555-0158"),
        ("My number changed to 555-0158", "phone_number", "555-0158"),
        ("You can email me at ana.s@example.org", "email", "ana.s@example.org"),
        ("My email changed from a@b.org to c@d.org", "email", "c@d.org"),
        ("My favourite film of all time is Alien", "favorite_film", "Alien"),
        ("My all-time favourite film is Alien", "favorite_film", "Alien"),
        ("My go-to drink is ginger tea", "favorite_drink", "ginger tea"),
        ("My favourite colour used to be blue, but now it's green", "favorite_color", "green"),
        ("My favourite colour is no longer blue but green", "favorite_color", "green"),
        ("I changed my favourite colour from blue to green", "favorite_color", "green"),
        ("Of all colours I love ivory most.", "favorite_color", "ivory"),
        ("The colour I like best is ochre", "favorite_color", "ochre"),
        ("Ochre is the colour I like best", "favorite_color", "Ochre"),
        ("My favourite thing to eat is salt cod", "favorite_food", "salt cod"),
        ("My favourite dish is now salt cod", "favorite_food", "salt cod"),
        ("I'm really into old maps these days", "likes", "old maps"),
        ("I'm fond of old maps", "likes", "old maps"),
        ("I could eat dumplings all day long", "likes", "dumplings"),
        ("I could happily drink chai for breakfast, lunch and dinner", "likes", "chai"),
        ("Nothing in the world beats a cold swim for me", "likes", "a cold swim"),
        ("I'm not keen on jazz", "dislikes", "jazz"),
        ("I loathe jazz", "dislikes", "jazz"),
        ("I have a severe nut allergy", "allergic_to", "nut"),
        ("I have an allergy to shellfish", "allergic_to", "shellfish"),
        ("I'm a vegetarian", "diet", "vegetarian"),
        ("I went vegan last year", "diet", "vegan"),
        ("I'm originally from Salzburg", "hometown", "Salzburg"),
        ("I grew up in Salzburg", "hometown", "Salzburg"),
        ("I was born in Salzburg", "born_in", "Salzburg"),
        ("I was born on 3 May 1990", "birthday", "3 May 1990"),
        ("I'm 34 years old", "age", "34"),
        ("I just turned 30", "age", "30"),
        ("I'm married to Bea", "married_to", "Bea"),
        ("I'm engaged to Carl", "engaged_to", "Carl"),
        ("We've got a cat called Milo", "cat_name", "Milo"),
        ("My dog is called Rex", "dog_name", "Rex"),
        ("I celebrated my daughter Bea's birthday", "daughter_name", "Bea"),
        ("I have two cats", "has_pet", "two cats"),
        ("I speak Danish", "speaks", "Danish"),
        ("I play the cello", "plays", "cello"),
        ("I'm living out in Cork at the moment", "lives_in", "Cork"),
        ("Currently residing in Ghent", "lives_in", "Ghent"),
        ("My place is in Ghent these days", "lives_in", "Ghent"),
        ("I've taken up a post as a lecturer", "works_as", "a lecturer"),
        ("I'm a paramedic by trade", "works_as", "a paramedic"),
        ("I've left Bosch and joined Siemens", "works_at", "Siemens"),
        ("Siemens hired me in April", "works_at", "Siemens"),
        ("My new job is at Siemens", "works_at", "Siemens"),
        ("Mauve has become my favourite colour", "favorite_color", "Mauve"),
        ("Lasagne is my all-time favourite meal", "favorite_food", "Lasagne"),
        ("I'm hoping to publish a novel one day", "goal", "to publish a novel"),
        ("My big goal for this year is to run 10k", "goal", "to run 10k"),
        ("My new goal: learn to sail", "goal", "learn to sail"),
        ("My new number's 555-0199", "phone_number", "555-0199"),
        ("Here's my new number: 555-0199", "phone_number", "555-0199"),
        ("Drop me a line at a@b.org", "email", "a@b.org"),
        ("I got married to Petra", "married_to", "Petra"),
        ("My birthday's on 4 June", "birthday", "4 June"),
    ],
)
def test_of_oneself(text: str, predicate: str, value: str) -> None:
    assert facts(text) == [("Ana", predicate, value)]
    assert all(found.span in text for found in find(text))


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("Well, these days home is Porto for me!", "lives_in", "Porto"),
        ("I was in Rome, but now I live in Porto again", "lives_in", "Porto"),
        ("Great news: they hired me as a librarian", "works_as", "a librarian"),
        ("It rained a lot. You can reach me on 555-0158, by the way.", "phone_number", "555-0158"),
        ("Hey, my goal has changed: I want to keep bees", "goal", "to keep bees"),
    ],
)
def test_within_other_talk(text: str, predicate: str, value: str) -> None:
    assert facts(text) == [("Ana", predicate, value)]


@pytest.mark.parametrize(
    ("text", "subject", "predicate", "value"),
    [
        ("Dmitri's current project is Lantern.", "Dmitri", "current_project", "Lantern"),
        ("Farid's favourite colour is teal.", "Farid", "favorite_color", "teal"),
        ("Dmitri is a gardener now, I was told.", "Dmitri", "works_as", "a gardener"),
        ("I heard that Ben wants to run a marathon.", "Ben", "goal", "to run a marathon"),
        ("I heard that Elif works at Norsk Hydro.", "Elif", "works_at", "Norsk Hydro"),
        ("Apparently Carla moved to Faro", "Carla", "lives_in", "Faro"),
        ("Word is that Carla is on project Quarry", "Carla", "current_project", "Quarry"),
        ("They hired Carla as a librarian", "Carla", "works_as", "a librarian"),
        ("Carla calls Lisbon home", "Carla", "lives_in", "Lisbon"),
        ("Carla can be reached on 555-0158", "Carla", "phone_number", "555-0158"),
        ("The favourite food of Farid is pea risotto", "Farid", "favorite_food", "pea risotto"),
        ("Elif's dog is called Rex", "Elif", "dog_name", "Rex"),
        ("Carla has changed her phone number to 555-0158", "Carla", "phone_number", "555-0158"),
    ],
)
def test_of_others_where_nobody_in_the_text_speaks(
    text: str, subject: str, predicate: str, value: str
) -> None:
    assert facts(text, None) == [(subject, predicate, value)]
    assert facts(text, "Zoe") == []


def test_one_sentence_may_say_two_things() -> None:
    assert facts("I have a dog named Rex") == [("Ana", "has_pet", "a dog"), ("Ana", "dog_name", "Rex")]
    assert facts("I like teal best of all colours") == [
        ("Ana", "likes", "teal"),
        ("Ana", "favorite_color", "teal"),
    ]


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("Carla lives in Faro", 0.8),
        ("I heard that Carla lives in Faro", 0.4),
        ("They say Carla lives in Faro", 0.4),
        ("Carla lives in Faro, I was told", 0.4),
        ("Carla lives in Faro, I think", 0.4),
    ],
)
def test_what_was_only_heard_is_less_sure(text: str, confidence: float) -> None:
    (found,) = find(text, None)
    assert (found.claim.subject, found.claim.object, found.claim.confidence) == ("Carla", "Faro", confidence)


@pytest.mark.parametrize(
    ("text", "wrong", "right"),
    [
        ("I said Faro, but I live in Braga", "Faro", "Braga"),
        ("I said nurse, but plumber is what I work as", "a nurse", "a plumber"),
        ("Sorry, I told you blue but my favourite colour is teal", "blue", "teal"),
        ("I said Ostra, but it is Helvia that I work for", "Ostra", "Helvia"),
        ("Not a nurse: I work as a baker", "a nurse", "a baker"),
        ("Not in Faro, I live in Braga", "Faro", "Braga"),
    ],
)
def test_a_correction_takes_back_what_it_names_as_wrong(text: str, wrong: str, right: str) -> None:
    taken_back, stated = find(text)
    assert (taken_back.denied, taken_back.claim.object) == (True, wrong)
    assert (stated.denied, stated.claim.object) == (False, right)
    assert taken_back.claim.predicate == stated.claim.predicate


def test_a_correction_that_repeats_itself_takes_nothing_back() -> None:
    (found,) = find("I said Braga, but I live in Braga now")
    assert not found.denied


def test_a_goal_is_taken_back_by_its_name() -> None:
    (found,) = find("Forget what I said about my goal to swim the strait.")
    assert (found.denied, found.claim.predicate, found.claim.object) == (True, "goal", "to swim the strait")


@pytest.mark.parametrize("speaker", ["Ana", None])
@pytest.mark.parametrize(
    "text",
    [
        "If I lived in Porto, I would swim",
        "As a child I wanted to become a pilot",
        "I used to work for the company Helvia",
        "They nearly hired me as a librarian",
        "They never hired me as a librarian",
        "Did they hire me as a cook?",
        "Home is where the heart is",
        "Home is far away for me",
        "The house I grew up in is gone",
        "I have a house in mind",
        "We moved to the next topic",
        "We live in strange times",
        "We're settled in for the night",
        "I lived in Lagos for ten years",
        "I had lived in Lagos for ten years",
        "I might be on project Orchard soon",
        "I may switch to project Orchard",
        "I was on project Orchard",
        "I don't want to learn Danish",
        "I want to thank everyone",
        "I want to start a conversation",
        "I want to see it again",
        "I want to run an errand",
        "What I want is to know why",
        "I aim to please you",
        "I never aim to please",
        "You can reach me on Monday",
        "You can't reach me on 555-0158",
        "Can you call me on 555-0158?",
        "Don't call me on 555-0158",
        "Call 555-0158 for a plumber",
        "My favourite colour was blue",
        "My favourite colour is not blue",
        "My favourite colour used to be blue",
        "I wish my favourite colour were green",
        "My number is up",
        "My mobile is dead",
        "My email is broken",
        "My dream job is gone",
        "I'm into it",
        "I'm not into jazz lately, or am I?",
        "I'm not a vegetarian",
        "I was a vegetarian",
        "I'm from the future",
        "I'm from another planet",
        "I turned 30 pages today",
        "I'm 30 minutes late",
        "I turned down the job as a cook",
        "I started at nine",
        "I started at Lund University",
        "I'm married to the idea",
        "I play with fire",
        "I play the fool",
        "I have two left feet",
        "I have a dog-eared book",
        "I have a friend called in sick",
        "I no longer speak Danish",
        "I can't speak Danish",
        "I almost took a job as a courier",
        "I didn't take a job as a courier",
        "I was hired by mistake",
        "I've been a fan for years",
        "Where I live is no secret",
        "Porto is where I lived",
        "Porto is where I was born",
        "I said Porto, but nobody cared",
        "I said nurse, but it is fine",
        "Not a bad idea, I must say",
        "My friend says my dog Rex bites",
        '"They hired me as a cook" is a film',
        "In the play they hired me as a cook, she said",
        "I heard that",
        "I heard I live in Rome",
        "I think I live in Rome",
        "Suppose they hired me as a cook",
        "The number is 555-0158",
        "I wanted to learn Danish",
        "I would want to learn Danish",
        "I have a new goal in mind",
        "I hope they put me on project Orchard",
        "Nothing beats it",
        "My job is stressful for a nurse",
        "I have a stuffed dog named Rex",
        "Siemens never hired me",
        "Everybody recruited me",
        "My new rule: no phones",
        "My new idea: it may rain",
        "I was married to Petra",
        "Now living is hard",
        "Currently working as intended",
        "I hope to see it",
        "I left Bosch to join him",
        "My sister's 30 cats",
        "My friend's 30",
        "I couldn't eat dumplings every day",
        "If I could eat dumplings every day, I would",
        "I could eat a horse",
        "Nothing beats a cold swim",
        "I'm hoping to hear more",
        "My place is by the window",
        "I have a hot dog",
        "Carla wants to go to bed",
        "Ana says Carla was hired as a cook",
        "Is Carla's dog called Rex?",
        "If they hired Carla as a cook, good",
    ],
)
def test_left_alone(text: str, speaker: str | None) -> None:
    assert find(text, speaker) == []
