"""Every reason that can reach a caller is documented, and nothing documented is made up."""

import ast
import re
from pathlib import Path

from broker import errors

ROOT = Path(__file__).resolve().parents[2]
REASON = re.compile(r"[A-Z]+(_[A-Z]+)*")
NO_REASONS = {"O_CLOEXEC", "GUIDANCE_TOKEN"}
ONE_WORD = {"SUPERSEDED", "DRAINING"}  # too like other words to be found by their form alone


def documented() -> set[str]:
    rows = [line for line in (ROOT / "docs/errors.md").read_text().splitlines() if line.startswith("| `")]
    return {reason for row in rows for reason in re.findall(r"`([A-Z_]+)`", row.split("|")[1])}


def raised() -> set[str]:
    """Literal reasons handed to errors, and the reasons that each class has by default."""
    found = {
        value.default_reason
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.BrokerError)
    }
    for folder in ("broker", "protos/codec"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_reason(node.value):
                    found.add(node.value)
    return found


def _is_reason(text: str) -> bool:
    compound = "_" in text and REASON.fullmatch(text) is not None
    return text in ONE_WORD or (compound and text not in NO_REASONS)


def test_every_reason_is_documented():
    assert raised() - documented() == set()


def test_every_documented_reason_can_be_met():
    assert documented() - raised() == set()


def test_reasons_are_short_enough_for_error_info():
    assert all(REASON.fullmatch(reason) and len(reason) <= 63 for reason in documented())
