"""`guidance-meta`: train and evaluate a head, record latencies, show it all."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from meta_policy.commands import COMMANDS

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="guidance-meta", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for command in COMMANDS:
        command.add(commands)
    arguments = parser.parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ValueError, FileNotFoundError) as error:
        print(f"guidance-meta: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
