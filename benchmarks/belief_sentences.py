"""The sentences of the belief stream: what people say of themselves and of each other, and what is asked of them.

{p} is the person, {v} the value, {old} the value before. Of each attribute several ways to say a thing are given; they
were written for their variety, before any of them was tried on a reader.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attribute:
    """One thing a person has one of at a time. predicate: its name as a claim.  heard: what others say of it."""

    predicate: str
    values: tuple[str, ...]
    says: tuple[str, ...]
    changes: tuple[str, ...]
    reverts: tuple[str, ...]
    retracts: tuple[str, ...]
    corrects: tuple[str, ...]
    heard: tuple[str, ...]
    mentions: tuple[str, ...]
    asks: tuple[str, ...]
    asked_then: str


def listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))


ATTRIBUTES = {
    "home": Attribute(
        "lives_in",
        listed("Porto|Braga|Faro|Evora|Lagos|Tomar|Viseu|Aveiro|Coimbra|Sintra"),
        listed("I live in {v}.|Home is {v} for me.|I have a small flat in {v}, near the station."),
        listed(
            "I moved to {v} last week!|I'm living in {v} now.|We are settled in {v} now, all boxes unpacked.|"
            "Since Sunday my keys open a door in {v}."
        ),
        listed("I moved back to {v}.|Back in {v} for good, the same street as before."),
        listed(
            "I never lived in {v}.|Forget what I said about living in {v}.|It is not true that I live in {v}."
        ),
        listed("I said {old}, but it is {v} where I live.|Not {old}: I live in {v}, I misspoke."),
        listed("I heard that {p} lives in {v}.|{p} lives in {v}, they say.|{p} lives in {v}."),
        listed("The train from {v} was late again.|If I lived in {v}, I would swim every day."),
        listed("Where does {p} live?|Which town is home to {p}?"),
        "Where did {p} live in {month}?",
    ),
    "job": Attribute(
        "works_as",
        listed("baker|pilot|nurse|tailor|translator|plumber|librarian|gardener|journalist|dentist"),
        listed("I work as a {v}.|I'm a {v}.|I earn my bread as a {v}."),
        listed(
            "I now work as a {v}.|They hired me as a {v}.|I retrained and I'm a {v} now.|"
            "Monday was my first day as a {v}."
        ),
        listed("I went back to being a {v}.|I work as a {v} again."),
        listed(
            "I was never a {v}.|Forget what I said about working as a {v}.|It is not true that I work as a {v}."
        ),
        listed(
            "I said {old}, but {v} is what I work as.|Not a {old}: I work as a {v}, the other was a slip."
        ),
        listed("I heard that {p} works as a {v}.|{p} is a {v} now, I was told.|{p} works as a {v}."),
        listed("The {v} on our street is very kind.|As a child I wanted to be a {v}."),
        listed("What does {p} work as?|What is the job of {p}?"),
        "What did {p} work as in {month}?",
    ),
    "employer": Attribute(
        "works_at",
        listed("Initech|Brightwell|Norsk Hydro|Carvalho Filhos|Lumen Labs|Ostra|Tidewater|Quanta|Helvia|Marlow"),
        listed("I work for the company {v}.|My employer is {v}.|I work at {v}."),
        listed(
            "I work for {v} now.|I started at {v} on Monday.|I changed companies, {v} is my employer now.|"
            "My badge says {v} since yesterday."
        ),
        listed("I'm working at {v} again.|{v} took me back."),
        listed(
            "I never worked at {v}.|Forget what I said about working for {v}.|It is not true that I work at {v}."
        ),
        listed("I said {old}, but it is {v} that I work for.|Not {old}: I work at {v}, sorry."),
        listed("I heard that {p} works at {v}.|Somebody told me {p} is with {v}.|{p} works for {v}."),
        listed("{v} was in the newspaper today.|I would never work at {v}, the hours are awful."),
        listed("Which company does {p} work for?|Where does {p} work?"),
        "Which company did {p} work for in {month}?",
    ),
    "food": Attribute(
        "favorite_food",
        listed("rice with duck|fig tart|onion soup|salt cod|lentil stew|plum cake|fried squid|pea risotto"),
        listed("My favourite food is {v}.|Nothing on a plate beats {v} for me.|I could eat {v} every day."),
        listed(
            "My favourite food is {v} now.|My new favourite dish is {v}.|{v} is my favourite food these days."
        ),
        listed("My favourite food is {v} again.|I am back to {v} as my favourite food."),
        listed(
            "My favourite food was never {v}.|Forget what I said about {v} being my favourite food.|"
            "It is not true that {v} is my favourite food."
        ),
        listed(
            "I said {old}, but my favourite food is {v}.|Not {old}: my favourite food is {v}, I mixed them up."
        ),
        listed("I heard that the favourite food of {p} is {v}.|{p}'s favourite food is {v}."),
        listed("We had {v} for lunch.|My aunt sells {v} at the market."),
        listed("What is {p}'s favourite food?|Which dish does {p} like best?"),
        "What was {p}'s favourite food in {month}?",
    ),
    "colour": Attribute(
        "favorite_color",
        listed("teal|ochre|crimson|violet|navy|mustard|ivory|turquoise"),
        listed("My favourite colour is {v}.|Of all colours I love {v} most.|{v} is my favourite colour."),
        listed("My favourite colour is {v} now.|My favourite colour has changed to {v}."),
        listed("My favourite colour is {v} again.|{v} is once more the colour I like best."),
        listed(
            "My favourite colour was never {v}.|Forget what I said about {v} being my favourite colour.|"
            "It is not true that my favourite colour is {v}."
        ),
        listed("I said {old}, but my favourite colour is {v}.|Not {old}: my favourite colour is {v}."),
        listed("I heard that {p} likes {v} best of all colours.|{p}'s favourite colour is {v}."),
        listed("They painted the hall {v}.|The {v} curtains are at the cleaner's."),
        listed("What is {p}'s favourite colour?|Which colour does {p} like best?"),
        "What was {p}'s favourite colour in {month}?",
    ),
    "phone": Attribute(
        "phone_number",
        listed("555-0114|555-0127|555-0131|555-0146|555-0158|555-0163|555-0172|555-0185|555-0190|555-0109"),
        listed("My phone number is {v}.|You can reach me on {v}.|Call me on {v}."),
        listed("My phone number is {v} now.|I have a new phone, the number is {v}.|Please call {v} from now on."),
        listed("My phone number is {v} again.|The old line works again, ring {v}."),
        listed(
            "My phone number was never {v}.|Forget the number {v} that I gave you.|"
            "It is not true that my phone number is {v}."
        ),
        listed("I said {old}, but my phone number is {v}.|Not {old}: my phone number is {v}, a typo."),
        listed("I heard that {p} can be called on {v}.|{p}'s phone number is {v}."),
        listed("Somebody rang from {v} and hung up.|The clinic has the number {v}."),
        listed("What is {p}'s phone number?|Which number do I call to reach {p}?"),
        "What was {p}'s phone number in {month}?",
    ),
    "project": Attribute(
        "current_project",
        listed("Harbour|Atlas|Orchard|Lantern|Compass|Meridian|Quarry|Sparrow"),
        listed("My current project is {v}.|I spend my days on project {v}.|{v} is my current project."),
        listed("My current project is {v} now.|They put me on project {v}.|I switched to project {v} today."),
        listed("My current project is {v} again.|I am back on project {v}."),
        listed(
            "My current project was never {v}.|Forget what I said about being on project {v}.|"
            "It is not true that {v} is my current project."
        ),
        listed("I said {old}, but my current project is {v}.|Not {old}: my current project is {v}."),
        listed("I heard that {p} is on project {v}.|{p}'s current project is {v}."),
        listed("Project {v} got more money.|The slides for {v} are on the server."),
        listed("What is {p}'s current project?|Which project is {p} on?"),
        "What was {p}'s current project in {month}?",
    ),
    "goal": Attribute(
        "goal",
        listed(
            "to run a marathon|to learn Danish|to build a canoe|to write a play|to keep bees|to swim the strait|"
            "to restore a piano|to grow saffron"
        ),
        listed("My goal is {v}.|What I want most is {v}.|I have set my heart on one thing, {v}."),
        listed("My goal is {v} now.|My goal has changed, I want {v}.|I have a new goal, {v}."),
        listed("My goal is {v} again.|I have returned to my older goal, {v}."),
        listed(
            "My goal was never {v}.|Forget what I said about my goal {v}.|It is not true that my goal is {v}."
        ),
        listed("I said {old}, but my goal is {v}.|Not {old}: my goal is {v}."),
        listed("I heard that {p} wants {v}.|{p}'s goal is {v}."),
        listed("It takes years {v}.|A friend of mine had time {v}."),
        listed("What is {p}'s goal?|What is {p} aiming for?"),
        "What was {p}'s goal in {month}?",
    ),
}  # fmt: skip

PEOPLE = listed("Ana|Ben|Carla|Dmitri|Elif|Farid")
CHATTER = listed(
    "It rained all morning.|The meeting was moved to three.|I slept badly.|Did you see the match?|What a long week!|"
    "The lift is broken again.|Thanks for the lift yesterday.|My bicycle has a flat tyre.|How are you?|"
    "The cat sat on the keyboard.|I am reading a book about glaciers.|See you on Friday.|The coffee here is awful.|"
    "Could you send me the file?|The roses are out.|We danced until two.|I lost my umbrella on the bus.|"
    "The dentist was on holiday.|Please water the plants.|That joke never gets old."
)
NEVER = listed(
    "What is {p}'s blood type?|Which university did {p} attend?|How tall is {p}?|What is the name of {p}'s dog?|"
    "When is {p}'s birthday?|Which instrument does {p} play?|What car does {p} drive?|Who is {p}'s landlord?|"
    "What is {p} allergic to?|How many siblings has {p}?|Which football club does {p} support?|"
    "What is {p}'s shoe size?"
)
