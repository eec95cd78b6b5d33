"""Wording: whether one text says all that another says, and nothing that takes it back.

A longer text may deny or limit what is in it: "everything except peanuts" has the word peanuts and says the opposite. So
two texts agree only where they have the same words that deny or limit, unstemmed: "near" is not "nearly". The list errs
towards too many: a word too much keeps a duplicate, a missing one loses a claim.
"""

import unicodedata
from collections import Counter

from recollectx.text import fold, query_tokens, tokens, words_of

_NEGATIONS = """
    not no never none neither nor without cannot
    dont didnt doesnt isnt arent wasnt werent hasnt havent hadnt cant couldnt wouldnt shouldnt wont
    nicht kein keine keinen nie niemals ohne pas jamais sans nunca sin non mai senza nao sem niet geen nooit zonder
    nie bez не нет никогда без 不 没 無 ない
"""
_LIMITS = """
    except excepted excluding but only just solely merely other than instead rather besides apart less free if unless until till before
    after since while when once used former formerly previously ex late old stop stops stopped stopping quit quits quitting
    gave given ceased finished almost nearly hardly barely scarcely rarely seldom sometimes hate hates hated dislike dislikes
    avoid avoids avoided refuse refuses refused lack lacks lacking false fake alleged allegedly supposedly maybe perhaps
    possibly probably may might could would should want wants wanted hope hopes hoping plan plans planned planning wish
    wishes try tries tried trying failed deputy vice assistant acting step law anti pseudo too
    ausser aber nur statt anstatt sondern wenn falls bis bevor nachdem fruher fruhere fruherer ehemals ehemalige ehemaliger
    ehemaligen fast beinahe kaum selten hasst meidet aufgehort vielleicht
    sauf excepte hormis mais seulement uniquement plutot lieu si jusque jusqua avant apres ancien ancienne anciennement
    presque rarement guere deteste evite arrete peut etre
    excepto salvo menos pero solo solamente unicamente vez lugar hasta antes despues antiguo antigua casi apenas raramente
    odia evita dejo quizas tal
    tranne eccetto salvo ma soltanto solamente invece se finche fino prima dopo quasi raramente odia evita smesso forse
    exceto mas somente vez ate depois antigo antiga quase raramente deixou parou talvez
    behalve maar alleen enkel plaats als tenzij tot voordat nadat voormalig voormalige vroeger bijna nauwelijks zelden haat
    vermijdt gestopt misschien
    oprocz poza ale tylko zamiast jesli chyba dopoki przed dawniej byly byla prawie ledwo rzadko nienawidzi unika przestal
    przestala moze
    кроме но только лишь вместо если пока до после бывший бывшая бывшего раньше почти едва редко ненавидит избегает бросил
    бросила перестал перестала может
"""
_LIMITING = frozenset(words_of(_NEGATIONS + _LIMITS))
_LIMITING_SIGNS = frozenset("不没沒無无非未除只仅僅但若前元")


def says_all(whole: str, part: str) -> bool:
    """Whether the telling words of `part` are in `whole`, in order, denied and limited as often, symbols included."""
    if fold(whole) == fold(part):
        return True
    wanted = query_tokens(part)
    left = iter(tokens(whole))
    return (
        bool(wanted)
        and _limits(whole) == _limits(part)
        and _symbols(part) <= _symbols(whole)
        and all(word in left for word in wanted)
    )


def _limits(text: str) -> Counter[str]:
    """The words that deny or limit, each as often as it is there."""
    signs = (char for char in text if char in _LIMITING_SIGNS)
    return Counter((*(word for word in words_of(text) if word in _LIMITING), *signs))


def _symbols(text: str) -> set[str]:
    return {char for char in text if unicodedata.category(char).startswith("S") or char == "%"}
