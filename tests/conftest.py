"""Fixtures and options of all tests."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.spark.quick_java import ENVIRONMENT

settings.register_profile(
    "fast",
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("fast"), max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups afterwards
def pytest_collection_modifyitems(items):
    """Run long tests first, and divide the tests of Spark among processes by module.

    Each process that gets some has a session, and one has the cluster.
    """
    items.sort(key=_when)
    for item in items:
        if item.get_closest_marker("spark") and not item.get_closest_marker("timeout"):
            # A test that is stopped while Java answers breaks the session of later tests.
            item.add_marker(pytest.mark.timeout(300))
        if "master" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("cluster"))
        elif "spark" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group(item.module.__name__))


def _when(item):
    if "master" in item.fixturenames:
        return 0
    return 1 if item.get_closest_marker("spark") is not None else 2


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Keep row indexes of tests, and of all that they start, out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
        patch.delenv("HEADRACE_INDEX_DIR", raising=False)
        yield


@pytest.fixture(autouse=True, scope="session")
def quick_java():
    """Start each Java of the tests quickly."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        yield
