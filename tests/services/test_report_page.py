"""A person opens the demo's report in a browser: it draws, in light and dark, without a complaint."""

import shutil
import subprocess

import pytest

from meta_policy.demo.report import render
from tests.meta_policy.demo.test_report import EPISODE, RESULT

pytestmark = pytest.mark.services

QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def browse(profile, *arguments):
    command = [shutil.which("chromium"), *QUIET, f"--user-data-dir={profile}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=True)


@pytest.mark.parametrize("scheme", [(), ("--blink-settings=preferredColorScheme=0",)], ids=["light", "dark"])
def test_the_report_draws_in_a_real_browser(tmp_path, scheme):
    report, picture = tmp_path / "report.html", tmp_path / "report.png"
    report.write_text(render(RESULT, [], EPISODE))
    browse(
        tmp_path / "profile", *scheme, "--window-size=1200,1600", f"--screenshot={picture}", report.as_uri()
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000  # an empty page is a tenth of this


def test_the_browser_finds_the_pictures_and_the_tables(tmp_path):
    report = tmp_path / "report.html"
    report.write_text(render(RESULT, [], EPISODE))
    dom = browse(tmp_path / "profile", "--dump-dom", report.as_uri()).stdout
    assert dom.count("<svg") >= 2
    assert "<table" in dom
