"""Domains: places in order, each written in its own way, and tables that are refused with one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.probes import DOMAINS, Domain, domain_of, draw_trials, read_table

GOOD = "planet,distance\nMercury,57.9\nVenus,108.2\nEarth,149.6\nMars,227.9\n"


def table(folder, text: str | bytes):
    path = folder / "planets.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_every_place_is_written_in_its_own_way(name):
    domain = domain_of(name)
    assert domain.name == name
    assert domain.span == domain.places[-1] - domain.places[0] > 0
    written = [domain.write(place) for place in {*domain.places.tolist(), *domain.own_places.values()}]
    assert len(set(written)) == len(written)
    assert len(domain.carriers) >= 60
    assert set(domain.own_places) <= set(domain.carriers)


def test_how_places_are_written():
    written = [("years", 1066.0, "1066"), ("dates", 0.0, "January 1"), ("dates", 364.0, "December 31")]
    written += [("latitudes", -33.9, "33.9 degrees south"), ("letters", 25.0, "Z"), ("temperatures", -5.0, "-5")]
    assert [domain_of(name).write(place) for name, place, _ in written] == [words for _, _, words in written]


def test_unknown_domain():
    with pytest.raises(InputError, match=r"domain must be one of years, .*, or table:FILE; got 'months'"):
        domain_of("months")


@pytest.mark.parametrize("places", [[1.0, 2.0], [1.0, 1.0, 2.0], [3.0, 2.0, 1.0]])
def test_places_must_increase(places):
    with pytest.raises(InputError, match="at least three increasing numbers"):
        Domain("bad", "", np.array(places), str, ("aa", "bb"), {})


def test_no_name_inside_another():
    with pytest.raises(InputError, match="'Alex' and 'ALEXander'"):
        Domain("bad", "", np.arange(3.0), str, ("ALEXander", "Bruno", "Alex"), {})


@pytest.mark.parametrize("text", [GOOD, "\ufeff" + GOOD, GOOD.replace("\n", "\r\n"), GOOD.replace("\n", "\n\n ,\n")])
def test_a_table_is_read(tmp_path, text):
    domain = domain_of(f"table:{table(tmp_path, text)}")
    assert (domain.name, domain.unit) == ("planets", "distance")
    assert domain.own_places == {"Mercury": 57.9, "Venus": 108.2, "Earth": 149.6, "Mars": 227.9}
    assert domain.places.tolist() == [57.9, 108.2, 149.6, 227.9]
    assert domain.write(57.9) == "57.9"
    assert draw_trials(domain, "similarity", 3, 5)[0].kind == "similarity"


def test_close_values_are_written_apart(tmp_path):
    domain = read_table(table(tmp_path, "a,b\none,1000001\ntwo,1000002\nthree,1000003\nfour,0.30000001\n"))
    assert [domain.write(place) for place in domain.places] == ["0.30000001", "1000001", "1000002", "1000003"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD + "Vulcan,57.9\n", r"line 6: every item and every value may occur once; got 'Vulcan'"),
        (GOOD + "Mars,300\n", r"line 6: every item and every value may occur once; got 'Mars'"),
        (GOOD + "Ceres,nan\n", "row 6, column 2 is 'nan', which is not finite"),
        (GOOD + "Ceres,inf\n", "row 6, column 2 is 'inf', which is not finite"),
        (
            GOOD + "\nCeres,far\n",
            "a number in the second column of every row; the cell in row 7, column 2 is 'far'",
        ),
        (GOOD + " ,414\n", r"line 6: the item must have a name"),
        (GOOD + "New Mars,414\n", r"No item of planets may be part of another's name; got 'Mars' and 'New Mars'"),
        (GOOD + "Ceres\n", "two columns"),
        (GOOD + "Ceres,414,extra\n", "two columns"),
        ("planet\nMercury\nVenus\nEarth\n", "two columns"),
        ("planet,distance\nMercury,57.9\nVenus,108.2\n", "at least three rows"),
        ("", "must have a header"),
        (b"planet,distance\nZo\xeb,1\nb,2\nc,3\n", "text in UTF-8"),
    ],
)
def test_bad_tables(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence):
        read_table(table(tmp_path, text))


def test_no_table(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        domain_of(f"table:{tmp_path / 'none.csv'}")
