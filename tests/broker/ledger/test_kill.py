"""kill -9 loses no settled charge and doubles none."""

import os
import re
import signal
import subprocess
import sys

from broker.ledger import Ledger
from broker.testing import ManualClock

# Tells each step only after the ledger said it is done: what was told must be there afterwards.
SPENDER = """
import itertools, sys
from broker.clock import SystemClock
from broker.ledger import Ledger
ledger = Ledger(SystemClock(), lambda event: None, sys.argv[1])
for count in itertools.count(1):
    reservation = ledger.reserve("acme", "strong", 0.003, ttl_s=60)
    print(f"reserved {count}", flush=True)
    ledger.charge([(reservation, 0.001)])
    print(f"charged {count}", flush=True)
    ledger.settle(reservation, 0.001)
    print(f"settled {count}", flush=True)
"""


def killed_at(path: str, told: str) -> dict[str, int]:
    """Run the spender, kill it once it has told so much, and return the last count of each step it told."""
    process = subprocess.Popen([sys.executable, "-c", SPENDER, path], stdout=subprocess.PIPE, text=True)
    last = {"reserved": 0, "charged": 0, "settled": 0}
    for line in process.stdout:
        step, count = line.split()
        last[step] = int(count)
        if line.strip() == told:
            os.kill(process.pid, signal.SIGKILL)
            break
    rest = process.stdout.read()
    process.stdout.close()
    assert process.wait(10) == -signal.SIGKILL
    for step, count in re.findall(r"(\w+) (\d+)\n", rest):
        last[step] = int(count)
    return last


def recovered(path: str):
    ledger = Ledger(ManualClock(), lambda event: None, path)
    (line,) = ledger.summary()
    ledger.close()
    return line


def bounds(last: dict[str, int]) -> tuple[float, float]:
    """USD: every settled call at 0.002; one that was open at its whole estimate, 0.003.

    A step may have been done and not told, so the open call may have got as far as one step more.
    """
    settled, reserved = last["settled"], last["reserved"]
    least = settled * 0.002 + (reserved - settled) * 0.002
    return round(least, 9), round(settled * 0.002 + 0.003, 9)


def test_a_killed_broker_has_lost_nothing_and_doubled_nothing(tmp_path):
    path = str(tmp_path / "l.db")
    spent_before = 0.0
    for told in ("settled 40", "reserved 7", "charged 700"):
        last = killed_at(path, told)
        line = recovered(path)
        least, most = bounds(last)
        assert least <= round(line.charged_usd - spent_before, 9) <= most
        assert line.reserved_usd == 0.0
        assert recovered(path).charged_usd == line.charged_usd
        spent_before = line.charged_usd


def test_an_open_call_of_a_killed_broker_is_charged_its_estimate(tmp_path):
    path = str(tmp_path / "l.db")
    code = SPENDER.replace("    ledger.charge(", "    sys.stdin.read()\n    ledger.charge(")
    process = subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "reserved 1\n"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=10)
    line = recovered(path)
    assert (line.charged_usd, line.charges, line.reserved_usd) == (0.003, 1, 0.0)
