"""Tables on a terminal: by rich where it is installed, else in aligned columns."""

from __future__ import annotations

from collections.abc import Sequence


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        print("\n".join([title, *aligned([list(columns), *rows])]))
        return
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(_verbatim, row))
    Console().print(table)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines, every column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def usd(amount: float) -> str:
    """As many digits as an amount needs: leased steps cost fractions of a cent."""
    return f"{amount:.9f}".rstrip("0").rstrip(".") or "0"


def _verbatim(cell: str) -> str:
    return cell.replace("[", r"\[")  # square brackets are markup to rich
