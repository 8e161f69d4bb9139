"""The application with a small view, and a set to measure."""

import numpy as np
import pytest
from starlette.testclient import TestClient

from genlaws.web.app import make_app
from toy_explorer import ADDRESS, LINE


@pytest.fixture(scope="session")
def line_view():
    return LINE


@pytest.fixture(scope="session")
def client():
    """Return a client of an application with the small view; its measuring process lives as long as the session."""
    with TestClient(make_app(views=[LINE]), base_url=ADDRESS) as client:
        yield client


@pytest.fixture(scope="session")
def circle():
    """Return embeddings near a circle and the places on it."""
    rng = np.random.default_rng(0)
    places = np.arange(40) / 40
    ring = np.stack([np.cos(2 * np.pi * places), np.sin(2 * np.pi * places), np.ones(40)], axis=1)
    return ring + 0.05 * rng.standard_normal(ring.shape), places
