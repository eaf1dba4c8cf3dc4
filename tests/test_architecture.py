"""Who may import whom. The folder names are the architecture; these tests keep them honest."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = ("protos", "broker", "agents", "meta_policy", "load_tests")
MAY_IMPORT = {
    "protos": (),
    "broker": ("protos",),
    "agents": ("protos",),
    "meta_policy": ("protos", "agents"),
    "load_tests": ("protos", "agents.client"),
}
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "base", "misc"}


def sources(package: str) -> list[Path]:
    return [path for path in (ROOT / package).rglob("*.py") if "_pb2" not in path.name]


def imports(path: Path) -> set[str]:
    """Every module a file imports, absolute."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


@pytest.mark.parametrize("package", OURS)
def test_a_package_imports_only_what_it_may(package):
    allowed = (package, *MAY_IMPORT[package])  # `from protos import codec` yields protos itself as well
    ours = {
        (path.relative_to(ROOT).as_posix(), module)
        for path in sources(package)
        for module in imports(path)
        if module.split(".")[0] in OURS
    }
    assert ours, f"{package} imports nothing of ours, not even itself"
    assert {one for one in ours if not any(within(one[1], name) for name in allowed)} == set()


@pytest.mark.parametrize("folder", ["cache", "calling", "providers", "routing"])
def test_siblings_inside_the_broker_do_not_import_each_other(folder):
    """A part may know another part's interface, never its implementation."""
    parts = {"cache", "calling", "providers", "routing"} - {folder}
    for path in sources(f"broker/{folder}"):
        for module in imports(path):
            for part in parts:
                if within(module, f"broker.{part}") and not within(module, f"broker.{part}.interface"):
                    assert module == f"broker.{part}", f"{path.relative_to(ROOT)} imports {module}"


def test_only_the_events_listeners_know_prometheus():
    users = {path for path in sources("broker") if "prometheus_client" in path.read_text()}
    metrics = ROOT / "broker" / "metrics"
    assert users <= {ROOT / "broker" / "wire" / "admin_http.py", *metrics.rglob("*.py")}


def test_only_the_edges_of_the_broker_know_grpc():
    """Adapters, remote sources, commands, the root; errors name statuses and draining ends a server."""
    edges = ("broker/wire/", "broker/providers/", "broker/cli/", "broker/app.py")
    edges += ("broker/errors.py", "broker/running/draining.py")
    for path in sources("broker"):
        known = {module.split(".")[0] for module in imports(path)} & {"grpc", "grpc_health", "grpc_status"}
        place = path.relative_to(ROOT).as_posix()
        assert not known or place.startswith(edges), place


def test_the_brokers_root_is_its_top_floor():
    modules = sorted((ROOT / "broker").glob("*.py"))
    assert len(modules) <= 16, "put it into the folder that is named for it"


def test_the_life_of_a_query_names_files_that_exist():
    text = (ROOT / "docs" / "life_of_a_query.md").read_text()
    named = set(re.findall(r"`(broker/[^`]+)`", text))
    assert len(named) > 20
    assert not [name for name in named if not (ROOT / name).is_file()]


def test_no_file_or_folder_is_named_for_nothing():
    for package in OURS:
        for path in (ROOT / package).rglob("*"):
            assert path.stem not in FORBIDDEN_NAMES, path


def test_nothing_is_pickled():
    for package in OURS:
        for path in sources(package):
            modules = imports(path)
            assert not any(within(m, name) for m in modules for name in ("pickle", "cloudpickle", "dill")), (
                path
            )
            assert "allow_pickle=True" not in path.read_text(), path


def loaded_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement", ["import agents.client", "import agents.client.aio, agents.client.sync"]
)
def test_the_client_imports_neither_torch_nor_gymnasium(statement):
    loaded = loaded_after(statement)
    assert not loaded & {"torch", "gymnasium", "mujoco"}
    assert "agents.client" in loaded


def test_a_broker_of_rules_does_not_import_torch():
    assert not loaded_after("import broker.app, broker.providers.registry") & {"torch", "gymnasium", "mujoco"}
