"""One module a command: `add(commands)` declares its arguments; what it needs is imported only when it runs."""

from meta_policy.commands import demo, evaluate, points, record

COMMANDS = (record, points, evaluate, demo)
