"""Writing the generated cases to their files."""

import importlib
import json
import pkgutil
from pathlib import Path

from tests.conformance import generators
from tests.conformance.generators.made import numbered
from tests.conformance.language_cases import FOLDER

NOT_FAMILIES = {"made", "__main__"}


def families() -> dict[str, str]:
    """Return the text of each generated file, by its name."""
    found = {}
    for module in pkgutil.iter_modules(generators.__path__):
        if module.name in NOT_FAMILIES:
            continue
        made = importlib.import_module(f"{generators.__name__}.{module.name}").cases()
        found[module.name] = "".join(
            f"{json.dumps(case, ensure_ascii=False)}\n"
            for case in numbered(module.name, made)
        )
    return found


def write(folder: Path = FOLDER) -> None:
    """Write all generated files."""
    for name, text in families().items():
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
