"""One thread per process, the same random examples on every machine, no display, and real models loaded once."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Set before numpy is loaded: the tests run in several processes, and more threads only get in each other's way.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["MPLBACKEND"] = "Agg"

settings.register_profile("genlaws", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("genlaws")

sys.path.insert(0, str(Path(__file__).parent))
LONGEST = "test_documentation_builds_without_warnings"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def pytest_collection_modifyitems(items):
    """Begin with the longest test, so that no process has to wait for it at the end."""
    items.sort(key=lambda item: item.name != LONGEST)


@pytest.fixture(scope="module")
def browser():
    """Return a real browser; closed at the end of a file, since its event loop would be in the way of other tests'."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        sentence = f"No browser was found; one of {', '.join(BROWSERS)} must be installed to test the pages."
        if os.environ.get("CI"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def stories():
    """Return stories260K and its tokenizer."""
    from real_models import stories_network, stories_tokenizer

    return stories_network(), stories_tokenizer()


@pytest.fixture(scope="session")
def wikitext():
    """Return forty lines of WikiText-2 with the white space at their ends."""
    from real_models import wikitext_lines

    return wikitext_lines(40)


@pytest.fixture(scope="session")
def smollm2_folder(tmp_path_factory):
    """Return a folder with SmolLM2, the same for all processes of a run."""
    from real_models import save_smollm2

    own = tmp_path_factory.getbasetemp()
    return save_smollm2((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "smollm2")
