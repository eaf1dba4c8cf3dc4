"""``guidance-broker``: argv to a command; ``serve`` runs a broker until a signal ends it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

for _library in ("OMP", "OPENBLAS", "MKL"):  # before numpy is imported: one thread for arithmetic is enough
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

from broker.cli import COMMANDS  # noqa: E402  (the lines above come first on purpose)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="guidance-broker", description="One address for all guidance.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.says, description=command.says)
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    args = parser.parse_args(argv)
    status: int = args.run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
