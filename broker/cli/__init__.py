"""The operator's commands beside ``serve``: one a file, each with its arguments and its ``run``."""

from broker.cli import check, ledger, providers, reload, serve
from broker.cli.command import Command

COMMANDS: tuple[Command, ...] = (
    Command("serve", "run a broker until a signal ends it", serve.add_arguments, serve.run),
    Command("check", "validate a configuration file", check.add_arguments, check.run),
    Command("providers", "the sources of a running broker", providers.add_arguments, providers.run),
    Command("ledger", "what was spent, by tenant and source", ledger.add_arguments, ledger.run),
    Command("reload", "make a running broker read its configuration again", reload.add_arguments, reload.run),
)

__all__ = ["COMMANDS", "Command"]
