"""The `guidance-load` command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from load_tests.hot_path import bench


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("guidance-load", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    benches = commands.add_parser("bench", help="measure a ratio against a ceiling in the same run")
    kinds = benches.add_subparsers(dest="bench", required=True)
    hot = kinds.add_parser("hot-path", help="the broker beside bare gRPC echoes; about two minutes")
    hot.add_argument("--out", type=Path, required=True, help="JSON file; a Markdown table goes beside it")
    hot.add_argument("--seconds", type=float, default=3.0, help="of each drive (default 3)")
    hot.add_argument("--repeats", type=int, default=3, help="counted pairs after a warm-up (default 3)")
    options = parser.parse_args(arguments)
    if options.seconds <= 0 or options.repeats < 1:
        parser.error("--seconds must be above 0 and --repeats at least 1")
    bench(options.out, options.seconds, options.repeats)
    print(f"written: {options.out} and {options.out.with_suffix('.md')}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
