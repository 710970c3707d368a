"""One module a command, with `command` in it: options and exit codes, no logic."""
