from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollectx.dates import Period, periods

EIGHTH = Period(2023, 5, 8)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Where was she on 8 May 2023?", [EIGHTH]),
        ("Where was she on May 8, 2023?", [EIGHTH]),
        ("the 8th of May, 2023", [EIGHTH]),
        ("am 8. Mai 2023", [EIGHTH]),
        ("le 8 mai 2023", [EIGHTH]),
        ("el 8 de mayo de 2023", [EIGHTH]),
        ("l'8 maggio 2023", [EIGHTH]),
        ("em 8 de maio de 2023", [EIGHTH]),
        ("2023-05-08", [EIGHTH]),
        ("8.5.2023", [EIGHTH]),
        ("2023年5月8日", [EIGHTH]),
        ("im März 2021", [Period(2021, 3)]),
        ("in August", [Period(None, 8)]),
        ("on the 3rd of October", [Period(None, 10, 3)]),
        ("Which films came out in 1999?", [Period(1999)]),
        ("between June 2 and 5 July 2020", [Period(None, 6, 2), Period(2020, 7, 5)]),
    ],
)
def test_dates_are_read_as_people_write_them(text: str, named: list[Period]) -> None:
    assert periods(text) == named


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It may rain",
        "march on",
        "room 2023a",
        "1.2023.5",
        "call 20230508",
        "version 3.5",
        "item 4, may I?",
        "$19.99",
    ],
)
def test_what_only_looks_like_a_date_is_none(text: str) -> None:
    assert periods(text) == []


def spans(period: Period, first: int = 2020, last: int = 2022) -> list[tuple[str, str]]:
    return [
        tuple(datetime.fromtimestamp(at, UTC).date().isoformat() for at in each)
        for each in period.spans(first, last)
    ]


def test_a_period_ends_where_the_next_begins_and_without_a_year_it_is_of_every_year() -> None:
    assert spans(Period(2023, 12)) == [("2023-12-01", "2024-01-01")]
    assert spans(Period(2024, 2, 29)) == [("2024-02-29", "2024-03-01")]
    assert spans(Period(2023)) == [("2023-01-01", "2024-01-01")]
    assert [begin for begin, _ in spans(Period(None, 5))] == ["2020-05-01", "2021-05-01", "2022-05-01"]
    assert spans(Period(None, 2, 29)) == [("2020-02-29", "2020-03-01")]
    assert spans(Period(2023, 2, 30)) == []
    assert len(spans(Period(None, 12), 1, 9998)) == 101


@given(st.text(max_size=60))
def test_any_text_can_be_asked(text: str) -> None:
    for period in periods(text):
        assert all(begin < end for begin, end in period.spans(1990, 2030))
