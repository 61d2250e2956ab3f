"""Directories for files that are synchronised thousands of times."""

import os
import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def quick_directory():
    """Return an empty directory, in memory if possible: these tests cut no power."""
    memory = Path("/dev/shm")
    inside = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="headrace-", dir=inside) as directory:
        yield Path(directory)
