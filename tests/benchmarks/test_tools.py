"""A program is built once, and one that cannot be built is reported."""

import json
import subprocess

import pytest

from benchmarks import tools


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(tools, "FOLDER", tmp_path)
    return tmp_path


def test_a_program_that_is_there_is_not_built_again(monkeypatch):
    path = tools.program("qj")
    path.parent.mkdir(parents=True)
    path.touch()
    monkeypatch.setattr(subprocess, "run", None)
    assert tools.installed("qj") == [path]


def test_a_program_is_built_in_its_version(monkeypatch, folder):
    commands = []

    def run(command, **_options):
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    tools.installed("rg")
    (command,) = commands
    assert command[:2] == ("cargo", "install")
    assert "--locked" in command
    assert command[-3:] == ("--root", str(folder / "rg-15.2.0"), "ripgrep@15.2.0")


@pytest.mark.parametrize("missing", ["cargo", "network"])
def test_a_program_that_cannot_be_built_is_reported(monkeypatch, capsys, missing):
    def run(command, **_options):
        return subprocess.CompletedProcess(command, 101, "", "error: no network\n")

    monkeypatch.setattr(subprocess, "run", run)
    if missing == "cargo":
        monkeypatch.setattr(tools.shutil, "which", lambda _name: None)
    (path,) = tools.installed("qj")
    assert not path.exists()
    reason = {"cargo": "cargo is missing", "network": "error: no network"}[missing]
    assert capsys.readouterr().err == f"qj is left out: {reason}\n"


@pytest.mark.parametrize("missing", ["cargo", "c++"])
def test_simdjson_is_reported_if_it_cannot_be_built(
    monkeypatch, capsys, folder, missing
):
    built = folder / "simdjson" / "walk"
    crate = {"name": "simdjson-sys", "manifest_path": str(folder / "Cargo.toml")}
    monkeypatch.setattr(tools, "SIMDJSON_WALK", built)
    monkeypatch.setattr(
        tools.shutil, "which", lambda name: None if name == missing else name
    )
    monkeypatch.setattr(
        subprocess,
        "run",
        lambda command, **_options: subprocess.CompletedProcess(command, 0, "", ""),
    )
    monkeypatch.setattr(
        subprocess,
        "check_output",
        lambda _command: json.dumps({"packages": [crate]}),
    )
    assert tools.simdjson() == built
    assert capsys.readouterr().err == f"simdjson is left out: {missing} is missing\n"
