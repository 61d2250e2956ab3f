"""What is generated from the table of commands: `docs/cli.md` and shell completions."""
