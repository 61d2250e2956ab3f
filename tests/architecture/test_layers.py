"""Rules about the whole source tree."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def modules_after(code):
    script = f"import sys\n{code}\nprint(*sorted(sys.modules))"
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    return set(answer.stdout.split())


def test_importing_headrace_loads_nothing_heavy():
    heavy = {"pyspark", "pyarrow", "fsspec", "numpy", "headrace._native"}
    assert "headrace" in modules_after("import headrace")
    assert not heavy & modules_after("import headrace")


def test_reading_loads_no_optional_package(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"1\n")
    code = f"import headrace; assert headrace.open({str(path)!r})[0] == 1"
    assert not {"pyspark", "pyarrow", "fsspec"} & modules_after(code)


def test_the_core_has_no_unsafe_code():
    crate = (ROOT / "crates/headrace-core/src/lib.rs").read_text()
    assert "#![forbid(unsafe_code)]" in crate


def test_only_the_kernel_imports_the_compiled_core():
    sources = list((ROOT / "python").rglob("*.py"))
    assert len(sources) > 20
    users = {
        path.relative_to(ROOT / "python/headrace").parts[0]
        for path in sources
        if "_native import" in path.read_text() or "import _native" in path.read_text()
    }
    assert users == {"kernel"}


def test_every_format_is_documented():
    documented = [path.stem for path in (ROOT / "docs/formats").glob("*.md")]
    assert "checkpoints" in documented
