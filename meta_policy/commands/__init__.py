"""One module a command: `add(commands)` declares its arguments; what it needs is imported when it runs."""

from meta_policy.commands import demo, evaluate, points, record, train

COMMANDS = (record, train, points, evaluate, demo)
