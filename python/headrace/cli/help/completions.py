"""Completion scripts, generated from the table of commands.

Each script is static text: completing a word starts no Python.
"""

from collections.abc import Callable, Iterable
from itertools import starmap

from headrace.cli.argument import Argument
from headrace.cli.flags import COMMON
from headrace.cli.registry import COMMANDS, Entry, first_words, group, load

GLOBAL = ("--help", "--version")


def _arguments(entry: Entry) -> tuple[Argument, ...]:
    return (*load(entry).ARGUMENTS, *COMMON)


def _options(entry: Entry) -> list[Argument]:
    return [argument for argument in _arguments(entry) if argument.flags]


def _positionals(entry: Entry) -> list[Argument]:
    return [argument for argument in _arguments(entry) if not argument.flags]


def _groups() -> dict[str, list[Entry]]:
    """Return the commands of two words, by their first word."""
    return {word: group(word) for word in first_words() if group(word)}


def _second(entry: Entry) -> str:
    return entry.name.split()[1]


BASH = """\
# bash completion for headrace; load it with: source <(headrace completions bash)
_headrace() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
    # Bash cuts `--events=json` into three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=($(compgen -W "{names} {globals}" -- "$cur"))
        return
    fi
    local options= values= command=${{COMP_WORDS[1]}}
    case $command in
{groups}
    esac
    case $command in
{commands}
    esac
    case $command:$prev in
{values}
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    elif [[ -n $values ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$cur"))
    fi
}}
complete -o bashdefault -o default -F _headrace headrace
"""


def bash() -> str:
    """Return the script for bash; where it offers nothing, bash offers files."""
    commands, values = [], []
    for entry in COMMANDS:
        flags = " ".join(flag for each in _options(entry) for flag in each.flags)
        words = " ".join(word for each in _positionals(entry) for word in each.choices)
        name = f"'{entry.name}'"
        commands.append(f'        {name}) options="{flags}" values="{words}" ;;')
        for option in _options(entry):
            if offer := _bash_value(option):
                pattern = "|".join(f"{name}:{flag}" for flag in option.flags)
                values.append(f"        {pattern}) {offer}; return ;;")
    return BASH.format(
        names=" ".join(first_words()),
        globals=" ".join(GLOBAL),
        groups="\n".join(starmap(_bash_group, _groups().items())),
        commands="\n".join(commands),
        values="\n".join(values),
    )


def _bash_group(word: str, members: list[Entry]) -> str:
    words = " ".join(map(_second, members))
    return f"""\
        {word})
            if (( COMP_CWORD == 2 )); then
                COMPREPLY=($(compgen -W "{words}" -- "$cur"))
                return
            fi
            command+=" ${{COMP_WORDS[2]}}"
            ;;"""


def _bash_value(option: Argument) -> str | None:
    match option.kind:
        case "switch":
            return None
        case "choice":
            words = " ".join(option.choices)
            return f'COMPREPLY=($(compgen -W "{words}" -- "$cur"))'
        case "directory":
            return "compopt +o bashdefault +o default -o dirnames 2>/dev/null"
        case "file":
            return ":"
        case _:
            return "compopt +o bashdefault +o default 2>/dev/null"


ZSH = """\
#compdef headrace
# zsh completion for headrace; load it with: source <(headrace completions zsh)
_headrace() {{
    local -a commands
    commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe -t commands command commands
        compadd -- {globals}
        return
    fi
    local command=${{words[2]}}
    shift words
    (( CURRENT-- ))
    case $command in
{groups}
    esac
    case $command in
{arguments}
    esac
}}
if [[ $funcstack[1] == _headrace ]]; then
    _headrace "$@"
else
    compdef _headrace headrace
fi
"""


def zsh() -> str:
    """Return the script for zsh."""
    commands = [
        f"        {_quote(f'{_zsh_text(word)}:{_about(word)}')}"
        for word in first_words()
    ]
    arguments = []
    for entry in COMMANDS:
        specs = [
            *(spec for option in _options(entry) for spec in _zsh_option(option)),
            *map(_zsh_positional, _positionals(entry)),
        ]
        lines = " \\\n".join(f"                {_quote(spec)}" for spec in specs)
        arguments.append(
            f"        {_quote(entry.name)})\n"
            f"            _arguments \\\n{lines}\n            ;;"
        )
    return ZSH.format(
        commands="\n".join(commands),
        globals=" ".join(GLOBAL),
        groups="\n".join(starmap(_zsh_group, _groups().items())),
        arguments="\n".join(arguments),
    )


def _zsh_group(word: str, members: list[Entry]) -> str:
    offers = " ".join(
        _quote(f"{_second(entry)}:{_zsh_text(entry.summary)}") for entry in members
    )
    return f"""\
        {word})
            if (( CURRENT == 2 )); then
                local -a members=({offers})
                _describe -t commands command members
                return
            fi
            command+=" ${{words[2]}}"
            shift words
            (( CURRENT-- ))
            ;;"""


def _about(word: str) -> str:
    """Return the summary of a first word: of a command, or the names of several."""
    members = group(word)
    summaries = {entry.name: entry.summary for entry in COMMANDS}
    return ", ".join(map(_second, members)) if members else summaries[word]


def _zsh_option(option: Argument) -> Iterable[str]:
    alone = f"({' '.join(option.flags)})" if len(option.flags) > 1 else ""
    for flag in option.flags:
        if option.kind == "switch":
            yield f"{alone}{flag}[{_zsh_text(option.help)}]"
        else:
            equals = "=" if flag.startswith("--") else "+"
            value = f":{_zsh_text(option.metavar or option.name)}:{_zsh_action(option)}"
            yield f"{alone}{flag}{equals}[{_zsh_text(option.help)}]{value}"


def _zsh_positional(argument: Argument) -> str:
    place = {"one": ":", "optional": "::"}.get(argument.arity, "*:")
    return (
        f"{place}{_zsh_text(argument.metavar or argument.name)}:{_zsh_action(argument)}"
    )


def _zsh_action(argument: Argument) -> str:
    match argument.kind:
        case "choice":
            return f"({' '.join(argument.choices)})"
        case "directory":
            return "_files -/"
        case "file":
            return "_files"
        case _:
            return ""


def _zsh_text(text: str) -> str:
    for special in "\\[]:":
        text = text.replace(special, f"\\{special}")
    return text


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


FISH = """\
# fish completion for headrace; load it with: headrace completions fish | source
complete -c headrace -f
{lines}
"""


def fish() -> str:
    """Return the script for fish."""
    first = "-n __fish_use_subcommand"
    lines = [
        f"complete -c headrace {first} -l {flag.removeprefix('--')}" for flag in GLOBAL
    ]
    for word in first_words():
        about = _fish_quote(_about(word))
        lines.append(f"complete -c headrace {first} -a {word} -d {about}")
    for word, members in _groups().items():
        seconds = " ".join(map(_second, members))
        for entry in members:
            here = (
                f"-n '__fish_seen_subcommand_from {word}; "
                f"and not __fish_seen_subcommand_from {seconds}'"
            )
            about = _fish_quote(entry.summary)
            lines.append(f"complete -c headrace {here} -a {_second(entry)} -d {about}")
    for entry in COMMANDS:
        seen = "; and ".join(
            f"__fish_seen_subcommand_from {word}" for word in entry.name.split()
        )
        here = f"-n '{seen}'"
        lines += [
            f"complete -c headrace {here} {each}"
            for argument in _arguments(entry)
            if (each := _fish_argument(argument))
        ]
    return FISH.format(lines="\n".join(lines))


def _fish_argument(argument: Argument) -> str:
    words = []
    for flag in argument.flags:
        long = flag.startswith("--")
        words.append(f"-l {flag[2:]}" if long else f"-s {flag[1:]}")
    match argument.kind:
        case "switch":
            pass
        case "choice":
            choices = _fish_quote(" ".join(argument.choices))
            words.append(f"-x -a {choices}" if argument.flags else f"-a {choices}")
        case "directory":
            words.append("-x -a '(__fish_complete_directories)'")
        case "file":
            words.append("-r -F" if argument.flags else "-F")
        case _:
            if argument.flags:
                words.append("-x")
    if not words:
        return ""
    return " ".join([*words, "-d", _fish_quote(argument.help)])


def _fish_quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
