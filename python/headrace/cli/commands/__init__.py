"""One module for each command of the table in `headrace.cli.registry`."""
