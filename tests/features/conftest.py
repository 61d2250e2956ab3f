"""Generated rows often lack the requested key; its warning is ignored."""

from pathlib import Path

import pytest

KEYLESS = "ignore:.*no row has the key:headrace.errors.HeadraceWarning"


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings(KEYLESS))
