"""The page that reads a log answers as the command line does, on single files."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.errors import DenpexError
from denpex_kb.index.places import public_sources

from .conftest import Build

NODE = shutil.which("node")
RUNNER = Path(__file__).with_name("read.mjs")
AGREEMENT = 0.98

needs_node = pytest.mark.skipif(NODE is None, reason="Node.js runs the page's matcher")


def read_in_page(site: Path, files: list[Path]) -> dict[str, dict[str, object]]:
    """Run the matcher over files, as the page's worker does."""
    assert NODE is not None
    command = [NODE, str(RUNNER), str(site / "static/matcher.js"), str(site / "api/rules.json")]
    done = subprocess.run(command, input="\n".join(map(str, files)), capture_output=True, text=True, check=True)
    return {item["name"]: item for item in map(json.loads, done.stdout.splitlines())}


def answer_of(item: dict[str, object]) -> str:
    answer = item["answer"]
    assert isinstance(answer, dict)
    return answer["hypotheses"][0]["id"] if answer["hypotheses"] else "none"


@needs_node
def test_the_page_agrees_with_the_command_line_on_single_files(site: Path, kb: KnowledgeBase) -> None:
    """The first answer is the same on at least 98 % of the catalog's single-file samples."""
    folder = public_sources().catalogs[0]
    files = [
        path
        for path in sorted(folder.glob("*/*/*"))
        if path.is_file() and path.name.startswith(("positive-", "negative-"))
    ]
    read = read_in_page(site, files)
    same, other = 0, []
    for path in files:
        try:
            diagnosis = kb.diagnose(path)
        except DenpexError:
            continue
        wanted = diagnosis.hypotheses[0].id if diagnosis.recognised else "none"
        got = answer_of(read[str(path)])
        same += got == wanted
        other += [f"{path.parent.name}/{path.name}: {got}, not {wanted}"] if got != wanted else []
    assert same + len(other) > 300
    assert same / (same + len(other)) >= AGREEMENT, "\n".join(other)


@needs_node
def test_every_pattern_can_be_read_by_javascript(site: Path) -> None:
    """Patterns, exclusions and prefixes compile in Node.js."""
    program = (
        "const d=JSON.parse(require('fs').readFileSync(0,'utf8'));const bad=[];"
        "for(const p of d.patterns)for(const r of [p[0],p[1]])if(r)try{new RegExp(r)}catch(e){bad.push(String(e))}"
        "for(const p of d.prefixes)try{new RegExp(p.pattern,'y')}catch(e){bad.push(String(e))}"
        "console.log(JSON.stringify(bad))"
    )
    assert NODE is not None
    data = (site / "api/rules.json").read_bytes()
    done = subprocess.run([NODE, "-e", program], input=data, capture_output=True, check=True)
    assert json.loads(done.stdout) == []


@needs_node
@pytest.mark.parametrize(
    ("version", "range_"),
    [
        ("2.6.0", ">=2.6,<2.8"), ("2.8.0", ">=2.6,<2.8"), ("2.8.0rc1", ">=2.6,<2.8"), ("2.6.0+cu124", ">=2.6"),
        ("0.15.4", "<0.18"), ("0.15", "==0.15.0"), ("1.2.3", "~=1.2"), ("2.0", "~=1.2"), ("1.10.0", ">1.9"),
        ("0.8.9.post1", ">0.8.9"), ("0.8.9.post1", ">=0.8.9"), ("4.57.6", "!=4.57.*"), ("2.9.0.dev20250801", "<2.9"),
    ],
)  # fmt: skip
def test_versions_compare_as_pep_440_says(site: Path, version: str, range_: str) -> None:
    """The page reads version ranges as the command line does."""
    from denpex_kb.model.conditions import version_in

    matcher = (site / "static/matcher.js").read_text(encoding="utf-8")
    program = matcher.replace("return { prepare, diagnose }", "return { versionIn }")
    program += f"console.log(denpexMatcher({{}}).versionIn({json.dumps(version)}, {json.dumps(range_)}))"
    assert NODE is not None
    done = subprocess.run([NODE, "-e", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(version_in(version, range_)).lower()


@needs_node
def test_a_large_log_is_read_in_pieces(build: Build, tmp_path: Path) -> None:
    """Lines that cross a piece's border are whole, and their numbers are right."""
    build()
    log = tmp_path / "large.log"
    filler = "step 1 loss 2.0 " + "x" * 83 + "\n"
    log.write_text(filler * 60_000 + "RuntimeError: xyzzy plugh 7 failed\n", encoding="utf-8")
    item = read_in_page(tmp_path / "site", [log])[str(log)]
    answer = item["answer"]
    assert isinstance(answer, dict)
    assert answer["hypotheses"][0]["id"] == "our-xyzzy-fails"
    assert answer["hypotheses"][0]["evidence"][0]["line"] == 60_001
    assert answer["lines"] == 60_001


@needs_node
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_other_encodings_are_read(build: Build, tmp_path: Path, encoding: str) -> None:
    """PowerShell and editors write other encodings than UTF-8."""
    build()
    log = tmp_path / "other.log"
    log.write_text("epoch 1\r\nRuntimeError: xyzzy plugh 7 failed\r\n", encoding=encoding)
    assert answer_of(read_in_page(tmp_path / "site", [log])[str(log)]) == "our-xyzzy-fails"
