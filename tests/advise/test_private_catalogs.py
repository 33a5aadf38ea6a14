"""Private catalogs: by option, environment and config file; later ones win, and a broken file stops nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import CENTRAL, ENTRY, Ran

pytestmark = pytest.mark.usefixtures("small_public")

LOG = "RuntimeError: xyzzy plugh 7 failed\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text(LOG)
    return path


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config" / "denpex" / "config.toml"
    path.parent.mkdir(parents=True)
    monkeypatch.delenv("DENPEX_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return path


def catalog(
    folder: Path, entry_id: str = "our-xyzzy-fails", title: str = "A private failure that prints xyzzy"
) -> Path:
    (folder / "deepspeed").mkdir(parents=True)
    text = ENTRY.format(id=entry_id).replace("A private failure that prints xyzzy", title)
    (folder / "deepspeed" / f"{entry_id}.md").write_text(text, encoding="utf-8")
    return folder


def best(ran: Ran) -> dict[str, str]:
    data = json.loads(ran.out)
    first: dict[str, str] = data["hypotheses"][0]
    return first


def test_a_catalog_given_by_option_answers_and_is_named(run: Callable[..., Ran], private: Path, log: Path) -> None:
    ran = run("diagnose", str(log), "--catalog", str(private), "-f", "json")

    assert best(ran)["id"] == "our-xyzzy-fails"
    assert best(ran)["origin"] == str(private)


def test_the_environment_names_catalogs(
    run: Callable[..., Ran], private: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENPEX_CATALOG", os.pathsep.join([str(private), ""]))

    assert best(run("diagnose", str(log), "-f", "json"))["id"] == "our-xyzzy-fails"


def test_the_config_file_names_catalogs_beside_itself(run: Callable[..., Ran], config: Path, log: Path) -> None:
    catalog(config.parent / "ours")
    config.write_text('catalogs = ["ours"]\n')

    assert best(run("diagnose", str(log), "-f", "json"))["origin"].endswith("ours")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("catalogs = [", "no valid TOML"),
        ("catalogs = 3", "is a list of folders"),
        ('catalogs = ["/gone"]', "no such folder"),
    ],
)
def test_a_broken_config_file_is_named_and_the_rest_works(
    run: Callable[..., Ran], config: Path, tmp_path: Path, text: str, says: str
) -> None:
    config.write_text(text)
    ran = run("show", CENTRAL)

    assert ran.status == 0
    assert says in ran.err


def test_later_catalogs_win_and_the_answer_says_whom_they_replace(
    run: Callable[..., Ran], tmp_path: Path, log: Path
) -> None:
    first = catalog(tmp_path / "first", title="The first account of xyzzy")
    second = catalog(tmp_path / "second", title="The second account of xyzzy")
    found = best(run("diagnose", str(log), "--catalog", str(first), "--catalog", str(second), "-f", "json"))

    assert found["title"] == "The second account of xyzzy"
    assert found["origin"] == f"{second} (in place of {first}'s)"
    shown = run("diagnose", str(log), "--catalog", str(first), "--catalog", str(second)).out
    assert "in place of" in " ".join(shown.split())


def test_a_public_entry_can_be_overridden_by_id(run: Callable[..., Ran], tmp_path: Path, log: Path) -> None:
    ours = catalog(tmp_path / "ours", entry_id=CENTRAL)
    found = best(run("diagnose", str(log), "--catalog", str(ours), "-f", "json"))

    assert found["id"] == CENTRAL
    assert found["origin"] == f"{ours} (in place of denpex's)"


BROKEN: dict[str, str | bytes] = {
    "no-front-matter": "hello\n",
    "yaml": "---\nid: [\n---\n",
    "not-utf8": b"\xff\xfe\xfa",
    "pattern": ENTRY.format(id="broken-pattern").replace("xyzzy plugh \\d{1,4} failed", "xyzzy (plugh failed"),
    "look-around": ENTRY.format(id="broken-look-around").replace(
        "xyzzy plugh \\d{1,4} failed", "(?<=xyzzy )plugh failed"
    ),
    "condition": ENTRY.format(id="broken-condition").replace("action:", 'requires: ["zero.stage is 3"]\naction:'),
    "version": ENTRY.format(id="broken-version").replace("1. Say it aloud.", "When: `torch.version >=two`\n1. Say it."),
    "no-body": ENTRY.format(id="broken-no-body").replace("pattern: 'xyzzy plugh \\d{1,4} failed'", "note: nothing"),
}


def test_broken_files_are_named_and_stop_nothing(run: Callable[..., Ran], private: Path, log: Path) -> None:
    for what, content in BROKEN.items():
        data = content if isinstance(content, bytes) else content.encode()
        (private / "deepspeed" / f"broken-{what}.md").write_bytes(data)
    ran = run("diagnose", str(log), "--catalog", str(private), "-f", "json")

    assert ran.status == 0
    assert best(ran)["id"] == "our-xyzzy-fails"
    assert [what for what in BROKEN if f"broken-{what}.md" not in ran.err] == []
