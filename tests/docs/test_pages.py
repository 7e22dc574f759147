"""Every block of every page works as it stands, and the pages build without a warning."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from judgebatch.cli.reference import reference
from tests.docs import folders
from tests.docs.blocks import Reader, blocks_of

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
FROM_NOTHING = {"tutorial.md"}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared") / "grading"
    folders.warehouse(folder)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(
    page: Path, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = blocks_of(page)
    if not blocks:
        return
    folder = tmp_path / "grading"
    if page.name in FROM_NOTHING:
        folder.mkdir()
    else:
        shutil.copytree(prepared, folder)
        folders.moved(folder)
    if page.name == "imports.md":
        folders.inspect_logs(folder)
    reader = Reader(folder, folders.names_of(page.name), monkeypatch)
    for block in blocks:
        try:
            reader.follow(block)
        except Exception as error:
            error.add_note(f"in {page.name}, line {block.line}")
            raise


def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(ROOT / "mkdocs.yml", source)
    shutil.copytree(ROOT / "docs", source / "docs")
    build = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "-f", "mkdocs.yml"],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stdout + build.stderr
    home = (source / "site/index.html").read_text(encoding="utf-8")
    assert 'src="http' not in home
    assert 'rel="stylesheet" href="http' not in home


def test_the_page_of_commands_is_what_the_commands_say() -> None:
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    assert page == reference(), "run python -m judgebatch.cli.reference"
