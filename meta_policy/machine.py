"""What a result was obtained on, and what it took."""

from __future__ import annotations

import os
import platform
import resource
from importlib.metadata import version

PACKAGES = ("grpcio", "gymnasium", "mujoco", "numpy", "protobuf", "torch", "uvloop")


def describe() -> dict[str, object]:
    """Processor, cores, Python and the versions that matter."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "platform": platform.platform(terse=True),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
    }


def in_words() -> str:
    told = describe()
    return f"{told['cores']} cores ({told['processor']}), Python {told['python']}, grpcio {version('grpcio')}"


def cpu_hours() -> float:
    """Of this process and of its children that have ended, so far."""
    spent = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        spent += usage.ru_utime + usage.ru_stime
    return spent / 3600


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
