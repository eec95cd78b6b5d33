"""The lists of words that PhraseExtractor's guards and trims read."""

import re

from recollectx.claims import Category


def words(text: str) -> frozenset[str]:
    """The words of `text`, for membership."""
    return frozenset(text.split())


def either(text: str) -> str:
    """A regular expression for any of the comma-separated phrases of `text`."""
    return "(?:" + "|".join(re.escape(part.strip()).replace(r"\ ", r"\s+") for part in text.split(",")) + ")"


DATES = (
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August "
    "September October November December"
)
CATEGORY = {
    "lives_in": Category.PERSONA,
    "works_as": Category.PERSONA,
    "works_at": Category.PERSONA,
    "prefers": Category.PREFERENCES,
    "likes": Category.PREFERENCES,
    "dislikes": Category.PREFERENCES,
    "allergic_to": Category.CONSTRAINTS,
    "name": Category.PERSONA,
    "nickname": Category.PERSONA,
    "birthday": Category.PERSONA,
    "age": Category.PERSONA,
    "job": Category.PERSONA,
    "hometown": Category.PERSONA,
    "born_in": Category.PERSONA,
    "speaks": Category.PERSONA,
    "married_to": Category.RELATIONSHIPS,
    "engaged_to": Category.RELATIONSHIPS,
    "dating": Category.RELATIONSHIPS,
    "has_pet": Category.PERSONA,
    "diet": Category.CONSTRAINTS,
    "budget": Category.FINANCE,
    "major": Category.STUDY,
    "goal": Category.GOALS,
    "dream": Category.GOALS,
}
IMPORTANCE = {
    "allergic_to": 0.9,
    "lives_in": 0.7,
    "works_as": 0.7,
    "works_at": 0.7,
    "name": 0.8,
    "birthday": 0.7,
}
OTHER_IMPORTANCE = 0.5

PREDICATE_WORDS = {
    "lives_in": "live living reside move relocate home based settle house flat apartment city town here",
    "works_as": "work job profession career hire occupation employ trained promoted become became appointed role position",
    "works_at": "work job employ employer hire office company join team",
    "likes": "like love enjoy fan adore favorite favourite prefer fond keen into great best",
    "dislikes": "dislike hate not no dont cant never loathe stand worst detest avoid",
    "prefers": "prefer rather like love favorite favourite better over instead",
    "allergic_to": "allergy allergic intolerant react reaction",
    "name": "name call called",
    "age": "age old years turn turned born birthday",
    "birthday": "birthday born birth turn",
    "hometown": "hometown home from born grew raised",
    "married_to": "marry married wife husband spouse wedding",
    "goal": "goal want aim plan hope dream wish like would working become",
}
"""Words of which a message has one, if it says one of these predicates."""

RELATIVES = words(
    "mother father mom mum dad sister brother son daughter wife husband partner girlfriend boyfriend fiance "
    "fiancee aunt uncle cousin niece nephew grandmother grandfather grandma grandpa boss friend roommate"
)
OTHER_PEOPLE = RELATIVES | words(
    "colleague colleagues coworker neighbour neighbours neighbor neighbors ex kid kids child children parents brothers "
    "sisters sons daughters friends cousins teacher doctor landlord flatmate roommates in-laws stepmother stepfather "
    "schwester bruder mutter vater sohn tochter freund freundin mann frau hermana hermano madre padre hijo hija amigo "
    "amiga soeur sœur frère mère père fils fille ami amie sorella fratello figlio figlia irmã irmão"
)
"""Who may be the subject of a statement instead of who makes it."""
ATTRIBUTES = words(
    "name nickname birthday birthdate age email address hometown nationality religion "
    "diet goal dream hobby hobbies pronouns major degree budget anniversary timezone language allergy passion"
)
"""Attributes whose value may be any phrase; others need a proper name or a number."""
VAGUE_ATTRIBUTES = words(
    "part parts memory memories moment moments thing things one ones bit time times shot scene piece picture photo "
    "pic spot way favorite day days life family fam team heart mind point guess turn bad opinion advice"
)
OTHER_NAMES = {
    "employer": "works_at",
    "workplace": "works_at",
    "home": "lives_in",
    "favorite_thing_to_eat": "favorite_food",
    "favorite_thing_to_drink": "favorite_drink",
    "favorite_dish": "favorite_food",
    "favorite_meal": "favorite_food",
    "project": "current_project",
    "email_address": "email",
    "aim": "goal",
    "ambition": "goal",
} | dict.fromkeys(
    (
        "number",
        "mobile",
        "mobile_number",
        "cell",
        "cell_number",
        "cell_phone_number",
        "telephone_number",
        "mobile_phone_number",
    ),
    "phone_number",
)
"""Attributes that are another name for what a verb says."""
LEADING = words("new all-time absolute personal very big main biggest ultimate")
"""Words before an attribute that leave it the same attribute."""
PREFERRED = words("go-to preferred")
"""Other words for "favourite"."""
SPELLING = {"favourite": "favorite", "favourites": "favorites", "colour": "color"}

NOT_NAMES = (
    "I|I'm|You|He|She|It|We|They|This|That|These|Those|There|Here|My|Your|His|Her|Its|Our|Their|The|A|An|And|But|Or|So|"
    "If|When|While|Who|What|Where|Why|How|Which|Everyone|Everybody|Someone|Somebody|Anyone|Nobody|Nothing|Everything|"
    "Something|One|Each|Every|No|Not|Yes|Yeah|Well|Oh|Hi|Hey|Hello|Dear|Mom|Mum|Dad|Grandma|Grandpa|Yesterday|Today|"
    "Tomorrow|Now|Then|Also|Actually|Because|Since|Maybe|Perhaps|Love|Life|Time|Only|Just|Still|God|"
    "\\w+ing|\\w+ly|"
) + DATES.replace(" ", "|")

LEAD = re.compile(
    r"(?:[,;:.!?…)&*>–—]|\s-|-\s|"
    r"\b(?i:and|but|so|because|since|'?cause|cos|cuz|though|although|yes|yeah|yep|yup|no|nope|well|honestly|actually|"
    r"personally|also|plus|wow|oh|haha|lol|ok|okay|hey|hi|hello|currently|now|today|btw|by\s+the\s+way|you\s+know|"
    r"these\s+days|nowadays|right\s+now|at\s+the\s+moment|from\s+now\s+on|as\s+of\s+(?:today|now)|lately|recently|"
    r"(?:last|this)\s+\w+|since\s+(?:last\s+)?\w+|apparently|"
    r"why|how\s+much|reasons?|now\s+that|found\s+out(?:\s+recently)?(?:\s+that)?|must\s+say|gotta\s+say|yesterday))\s*$"
)
"""What may stand right before a subject: the start of a clause. Elsewhere it is a relative or reported clause.

"why", "how much" and "found out" presuppose what follows them, so it counts as said.
"""

BLOCKING = re.compile(
    r"\b(?:if|unless|would|could|might|(?-i:may)|maybe|perhaps|wish|wishes|wished|imagine|imagined|suppose|supposing|assume|"
    r"pretend|pretending|hypothetically|dream|dreamed|dreamt|when|whenever|as\s+though|said|says|told|tells|asked|"
    r"claims|claimed|thinks|thought|believes|believed|wrote|writes|sings|sang|heard|(?:they|people|some|you)\s+say|"
    r"used\s+to|even\s+though\s+you|joke|joked|joking|lyrics?)\b|\w'd\b",
    re.IGNORECASE,
)
"""Before a subject in its sentence, these make it a condition, a wish or somebody else's words."""

MISSPOKE = re.compile(
    r"\s*(?:(?:sorry|no|oops|actually|correction)[,:]?\s+)?"
    r"(?:I\s+(?:said|told\s+you|wrote|mentioned)\s+(?P<said>[^,;:]{1,80}?),?\s+but\s+(?=\w)|"
    r"not\s+(?P<not>(?:(?:in|at|for|as)\s+)?[\w' -]{2,40}?)(?::|,|;|\s+[-–—])\s+(?=(?:I|I'm|my|it's|it\s+is)\b))",
    re.IGNORECASE,
)
"""What someone said before and now puts right: what follows is their own word."""

HEARSAY = re.compile(
    r"\s*(?:(?:well|so|oh|hey|by\s+the\s+way|and),?\s+)?(?:I(?:'ve|\s+have)?\s+(?:just\s+)?(?:hear|heard|was\s+told|read|gather|"
    r"understand|believe|think|guess)|(?:word|rumou?r)\s+(?:is|has\s+it)|(?:they|people)\s+say|"
    r"(?:someone|somebody)\s+told\s+me|apparently)(?:\s+that)?,?\s+(?=(?-i:(?!I\b|My\b)[A-Z]|the\b))",
    re.IGNORECASE,
)
"""Before a sentence about somebody: whoever speaks stands by it, but has it from others or is not sure."""
HEARSAY_AFTER = re.compile(
    r",?\s+(?:(?:or\s+)?so\s+)?(?:I\s+(?:was\s+told|am\s+told|hear|heard|gather|think|believe|guess)|I'm\s+told|"
    r"they\s+say|apparently)\s*$"
)

REPORTED_AFTER = re.compile(
    r",?\s+(?:(?:she|he|they|[A-Z]\w+)\s+(?:said|says|told|asked|claims|claimed)|said\s)\b|,\s+not\s*$"
)
CONDITION_AFTER = re.compile(r"^[^,;.!?]*\b(?:if|unless|as\s+long\s+as)\b", re.IGNORECASE)
RETRACTED = re.compile(r"\W{0,5}(?:(?:just\s+)?(?:kidding|joking|jk)\b|not\s+really\b|not!)", re.IGNORECASE)

AFTER_AND = either(
    "I, we, you, he, she, it, they, that, this, there, then, so, "
    "live, lives, work, works, love, loves, like, likes, enjoy, enjoys, prefer, prefers, hate, hates, dislike, dislikes, "
    "am, is, are, was, were, have, has, had, do, does, don't, doesn't, did, can, can't, could, will, would, want, wants, "
    "need, needs, think, thinks, hope, feel, feels, went, got, moved, started, try, tries, plan, plans, use, uses, "
    "make, makes, find, finds, know, help, helps, wish, also, even, always, still, really, now, never, just, how"
)
CLAUSE_END = re.compile(
    r"[;:()\[\]\n*~]|\.{2,}|…|[\U0001F000-\U0001FAFF\u2600-\u27BF\u2764]|[-–—]+\s|\s[-–—]+|—|"
    r"\s(?:best|most)\s+of\s+all(?=\s)|\sfor\s+(?:\w+\s+){1,2}(?:years|months|weeks|decades)\b|\s(?:because|'?cause|cos|cuz|so|when|whenever|while|although|though|but|since|until|whereas|yet|"
    r"(?:and|or)\s+"
    + AFTER_AND
    + r"|and\s+(?:my\s+)?\w+\s+(?:is|are|was|loves|likes|hates|lives|works|has|does|prefers|enjoys)|as\s+(?:it|I|they|he|she|we|you)|(?:it|that|they)'s)(?=[\s,']|$)",
)
FILLER = re.compile(
    r"[\s,.'!]*\b" + either(
        "too, as well, now, right now, these days, nowadays, a lot, so much, very much, at the moment, currently, still, "
        "tho, tbh, honestly, anymore, any more, the most, again, already, today, personally, also, lately, in general, "
        "btw, by the way, you know, haha, lol, thanks, more than anything, recently, of course, for sure, and, or, "
        "actually, really, instead, from now on, for now, at present, once more, once again, at last, for good, for me, "
    "this time, one day, someday, best, most, after all, either, please, just, sometime, more, better"
    ) + r"\s*$",
    re.IGNORECASE,
)  # fmt: skip

DANGLING = words(
    "it it's its this that that's these those you your yours you're you've he she he's she's him her his hers they them "
    "they're their theirs 'em em we we're us our ours i i'm i've i'd i'll me one ones here there what how why which who "
    "whose where when if everyone's another same both such former latter itself themselves yourself myself"
)
EMPTY_OBJECTS = words("everything something anything nothing all some most more things stuff")
NOT_FIRST = words(
    "about for like in at on of with by from into as than and or but not no so too very just every each any how "
    "are is was were be been do did done have had to-do said then also even still"
)
NOT_LAST = words("a an the of to in at on for with by from about into and or as than my being very like more")
SAYING = words(
    "think say believe imagine see hear admit know be brag ask tell break bother complain have call hate make let point"
)
"""After "like to" or "hate to" these make a turn of speech, not a taste."""
GENERIC = words(
    "ocean sea beach mountains outdoors countryside rain snow sun city theater theatre opera cinema gym piano guitar "
    "violin cold heat dark night water forest woods arts internet news smell sound taste thrill feeling beauty idea"
)
"""Nouns that after "the" name a kind, not the thing just shown or spoken of."""

HOMES = either(
    "town, city, village, apartment, flat, house, suburbs, suburb, countryside, neighborhood, neighbourhood, dorm, "
    "condo, cottage, cabin, studio, farm, mountains, trailer, houseboat"
)
EMPLOYERS = either(
    "hospital, school, startup, start-up, company, bank, shop, store, café, cafe, restaurant, bakery, university, "
    "college, library, firm, agency, clinic, lab, museum, nonprofit, non-profit, charity, hotel, gym, factory, bar, "
    "studio, shelter, newspaper, bookstore, bookshop, supermarket, government, office, brewery, farm, garage"
)
SCHOOLS = words("University College School Academy Institute High Kindergarten")
NOT_PLACES = words(
    DATES + " Chapter Phase Step Level Season Part Team Product Sales Marketing Engineering "
    "Linux Windows Mac Python Slack Plan Stage Christmas Easter Version Line Page Question"
)
PETS = either(
    "dog, dogs, cat, cats, puppy, puppies, kitten, kittens, rabbit, rabbits, hamster, hamsters, parrot, parrots, "
    "turtle, turtles, tortoise, horse, horses, pony, guinea pig, guinea pigs, goldfish, ferret, snake, lizard, gecko, bird"
)
DIETS = either("vegan, vegetarian, pescatarian, teetotal, lactose intolerant, gluten-free, kosher, halal")
LANGUAGES = either(
    "English, French, German, Dutch, Greek, Arabic, Hebrew, Hindi, Urdu, Bengali, Czech, Thai, Mandarin, Cantonese, "
    "Swahili, Tagalog, Latin, Welsh, Catalan, Farsi, Tamil, Punjabi"
)
PLAYED = either(
    "guitar, acoustic guitar, electric guitar, bass, piano, violin, viola, cello, clarinet, flute, oboe, trumpet, trombone, "
    "saxophone, sax, drums, harp, organ, accordion, ukulele, banjo, harmonica, keyboard, chess, tennis, football, soccer, "
    "basketball, volleyball, badminton, hockey, rugby, cricket, golf, baseball, bridge, squash, table tennis, handball"
)
AMBITIONS = words(
    "become learn run build write publish open start found launch climb finish graduate retire swim sail cycle "
    "study master restore compose record quit lose earn win grow adopt buy own raise"
)
"""Verbs that after "want to" name something to work for; others mostly name a wish of the moment."""
NOT_AMBITIONS = words(
    "conversation chat topic argument errand errands fight discussion day drink dinner lunch breakfast touch talk talking mind eye going "
    "more better everyone everything something anything things stuff ticket tickets thing again over early"
)
PROFESSIONS = either(
    "nurse, teacher, doctor, lawyer, engineer, developer, programmer, designer, architect, accountant, baker, barista, "
    "bartender, chef, waiter, waitress, carpenter, electrician, plumber, mechanic, pilot, driver, firefighter, "
    "policeman, police officer, soldier, journalist, reporter, editor, writer, author, screenwriter, musician, actor, "
    "actress, artist, photographer, dancer, coach, trainer, therapist, counselor, counsellor, psychologist, dentist, "
    "surgeon, veterinarian, vet, pharmacist, scientist, researcher, professor, librarian, manager, director, "
    "consultant, analyst, secretary, receptionist, cashier, salesman, realtor, farmer, gardener, hairdresser, tailor, "
    "translator, interpreter, social worker, bus driver, butcher, florist, potter, painter, sailor, fisherman, cook, cleaner, "
    "courier, banker, judge, optician, radiographer, physiotherapist, beekeeper, joiner, welder, cobbler, brewer, "
    "locksmith, watchmaker, bookkeeper, lecturer, tutor, nanny, childminder, photographer, point guard, shooting guard, goalkeeper, paramedic, midwife, data scientist"
)
NOT_YET = words(
    "aspiring former retired future amateur wannabe good great bad big better terrible natural born"
)
ADJECTIVES = words(
    "good nice safe warm quiet big small fun long fresh healthy cozy cosy calm simple strong new old great beautiful "
    "peaceful fast cool hot cold dark loud soft sweet spicy tall short rich deep free light"
)
NOT_JOBS = words("team whole reminder group result unit family couple break way charm pair part rule")
JOKE_ALLERGENS = words(
    "work mornings monday mondays exercise drama nonsense people fun stupidity effort math sports"
)
SOON = words("today tomorrow soon next coming tonight now around")
