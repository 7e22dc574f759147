"""The report in a headless Chromium: on a phone, on a desk, in the dark and on paper."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from judgebatch.cli.main import run_command
from tests.browser.devtools import Page, browser, chromium
from tests.reporting.test_report import odd_subject

SCREENS = {"phone": (390, 844), "desktop": (1280, 900)}


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    path = chromium()
    if path is None:
        pytest.skip(
            "no Chromium is installed and this machine lets nobody install one: `make test` run "
            "as root on Debian or Ubuntu gets it, elsewhere install chromium by hand"
        )
    with browser(path) as found:
        yield found


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a whole night, as the command line writes it."""
    folder = tmp_path_factory.mktemp("night") / "corpus"
    size = ["--episodes", "400", "--tenants", "4", "--nights", "2", "--seed", "3"]
    assert run_command(["synth", str(folder), *size]) == 0
    settings = ["--settings", str(folder / "judgebatch.toml")]
    for as_of in ("2026-03-02T03:00:00Z", "2026-03-03T03:00:00Z"):
        assert run_command(["run", *settings, "--as-of", as_of]) == 0
    return folder / "warehouse" / "runs" / "000002" / "report.html"


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run whose every id is odd."""
    from judgebatch.reporting.page import report  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("odd")
    path = folder / "report.html"
    path.write_bytes(report(odd_subject(folder / "run")))
    return path


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["night", "odd"])
def test_it_fits_the_screen_asks_for_nothing_and_complains_of_nothing(
    page: Page, which: str, scheme: str, screen: str, request: pytest.FixtureRequest
) -> None:
    file: Path = request.getfixturevalue(which)
    page.events.clear()
    page.screen(*SCREENS[screen], scheme=scheme, phone=screen == "phone")
    page.open(file)
    assert page.complaints() == []
    assert set(page.requests()) == {file.as_uri()}
    # Wide tables scroll inside themselves; the page itself never scrolls sideways.
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    assert page.value("document.querySelectorAll('script').length") == 0
    assert page.value("[...document.querySelectorAll('svg')].every(s => s.clientWidth > 200)")
    assert page.picture().startswith(b"\x89PNG")


def test_text_and_charts_follow_the_colour_scheme(page: Page, night: Path) -> None:
    def colours(scheme: str) -> list[str]:
        page.screen(*SCREENS["desktop"], scheme=scheme)
        page.open(night)
        found = page.value(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body)"
            ".color, getComputedStyle(document.querySelector('svg text')).fill,"
            " getComputedStyle(document.querySelector('svg .mark-rect path')).fill].join('|')"
        )
        return str(found).split("|")

    light, dark = colours("light"), colours("dark")
    assert all(one != other for one, other in zip(light, dark, strict=True))
    assert light[1] == light[2]
    assert dark[1] == dark[2]


def test_a_section_is_reached_by_its_link(page: Page, night: Path) -> None:
    page.screen(*SCREENS["phone"], phone=True)
    page.open(night)
    dangling = page.value(
        "[...document.querySelectorAll('nav a')]"
        ".filter(a => !document.querySelector(a.getAttribute('href'))).length"
    )
    assert dangling == 0


def test_on_paper_it_is_dark_on_white_whatever_the_screen_is(page: Page, night: Path) -> None:
    page.screen(*SCREENS["desktop"], scheme="dark")
    page.open(night)
    assert page.printed().startswith(b"%PDF")
    page.send("Emulation.setEmulatedMedia", media="print", features=[])
    try:
        found = page.value("getComputedStyle(document.body).color")
        hidden = page.value("getComputedStyle(document.querySelector('nav')).display")
        cut = page.value(
            "[...document.querySelectorAll('figure > div')]"
            ".some(d => getComputedStyle(d).overflowX != 'visible')"
        )
    finally:
        page.send("Emulation.setEmulatedMedia", media="", features=[])
    assert found == "rgb(0, 0, 0)"
    assert hidden == "none"
    assert not cut


def test_titles_and_descriptions_are_what_a_screen_reader_is_told(page: Page, night: Path) -> None:
    page.screen(*SCREENS["desktop"])
    page.open(night)
    page.send("Accessibility.enable")
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    images = [node for node in nodes if node.get("role", {}).get("value") in {"img", "image"}]
    assert images
    assert all(node.get("name", {}).get("value") for node in images)
