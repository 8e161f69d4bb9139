"""A seed is a whole number or a generator."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.core.seeds import generator_of


def test_a_number_gives_numpys_generator():
    assert generator_of(7).random() == np.random.default_rng(7).random()


def test_a_generator_is_used_as_it_is():
    given = np.random.default_rng(0)
    assert generator_of(given) is given


@pytest.mark.parametrize("seed", [-1, 1.5, "one", None, True])
def test_anything_else_is_refused(seed):
    with pytest.raises(InputError, match="seed must be a whole number, at least 0"):
        generator_of(seed)
