"""The report: one file, complete, inert, bounded."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.model.diagnosis import Course, Diagnosis, EventPlace, Lane, Mark
from denpex_kb.pipeline.excerpts import read_excerpts
from denpex_kb.render.picture.lanes import MOST_LANES, picture_of
from denpex_kb.render.picture.page import diagnosis_page
from denpex_kb.render.picture.quotes import Quotes
from tests.conftest import Ran
from tests.hub.pagecheck import PageReader
from tests.picture.jobs import attributes, mismatch_job, oom_job, written

ROOT = Path(__file__).parents[1]
HOSTILE = (
    "world_size: 2\n"
    "[rank0]: Traceback (most recent call last):\n"
    '[rank0]:   File "/job/<script>alert(1)</script>.py", line 9, in "><img src=x onerror=alert(2)>\n'
    "[rank0]: ValueError: \x1b[2J\u202egnp.exe ]]> --> </style></svg><svg onload=alert(3)> "
    '"onmouseover=alert(4) [x](javascript:alert(5)) `<b>` &lt;u&gt; \u2066\u200b\x07\n'
    "[rank1]: ValueError: </textarea><iframe src=javascript:alert(6)> {{ 7 * 7 }} {% raw %}\n"
)


def read(page: str) -> PageReader:
    reader = PageReader()
    reader.feed(page)
    return reader


def page_of(kb: KnowledgeBase, path: Path) -> str:
    return diagnosis_page(kb.diagnose(path), lambda places: read_excerpts(places, [path]))


@pytest.fixture(scope="session")
def page(kb: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(kb, written(tmp_path_factory.mktemp("oom"), oom_job(64, 5)))


def test_verdict_initiating_rank_and_what_to_do_stand_before_the_picture(page: str) -> None:
    text = " ".join("".join(read(page).text).split())

    assert (
        text.index("runs out of GPU memory") < text.index("Rank 5") < text.index("Do now") < text.index("What happened")
    )
    assert text.index("What happened") < text.index("Fix") < text.index("Verify") < text.index("Checklist")


def test_a_lane_for_the_one_that_began_it_and_one_for_all_that_waited(page: str) -> None:
    names = re.findall(r"<h3>(rank[^<]*)</h3>", page)

    assert names == ["rank 5", "ranks 0-4, 6-63"]
    assert "waited in ALLREDUCE of 8,192 elements, collective 41" in page


def test_every_sign_leads_to_a_quote_with_file_and_line(page: str) -> None:
    reader = read(page)
    inside = [link for link in reader.links if link.startswith("#")]

    assert len(inside) > 5
    assert {link[1:] for link in inside} <= reader.ids
    assert re.search(r'<li id="q1" value="1"><p><b>[^<]*train\.log:\d+</b>', page)


def test_quotes_show_the_lines_around(page: str) -> None:
    quote = re.search(r'<li id="q1".*?</li>', page, re.DOTALL)

    assert quote is not None
    assert "Traceback (most recent call last)" in quote.group()
    assert quote.group().count('class="ln at"') == 1


def test_it_needs_no_network_and_no_script(page: str) -> None:
    reader = read(page)

    assert reader.scripts == []
    assert not [link for link in reader.links if not link.startswith("#")]
    assert not {tag for tag, _ in reader.tags} & {"script", "img", "iframe", "link", "object", "embed", "form", "base"}
    assert not re.search(r"@import|url\((?!#)", page)
    policy = next(held["content"] for held in reader.all("meta") if held.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_what_the_log_holds_is_inert(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = written(tmp_path, HOSTILE, "x'\"><b>.log")

    page = page_of(kb, path)
    reader = read(page)

    assert "gnp.exe" in page
    assert not {tag for tag, _ in reader.tags} & {"script", "img", "iframe", "textarea", "b1"}
    assert not [name for _, held in reader.tags for name in held if name.startswith("on")]
    assert not [value for value in attributes(reader.tags, "href") if not value.startswith("#")]
    assert len(reader.all("style")) == 1
    assert "{{ 7 * 7 }}" in "".join(reader.text)
    body = page.replace("\n", "")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", body)


def test_light_dark_and_print_have_their_styles(page: str) -> None:
    assert 'name="color-scheme" content="light dark"' in page
    assert "@media print" in page
    assert "light-dark(" in page


def test_a_mismatch_is_drawn_in_the_order_of_collectives(kb: KnowledgeBase, tmp_path: Path) -> None:
    page = page_of(kb, written(tmp_path, mismatch_job(16, 9)))

    assert "Where each came in the order of collectives" in page
    assert "41: _ALLGATHER_BASE of 64 elements" in page
    assert "41: ALLREDUCE of 8,192 elements" in page


def test_four_thousand_ranks_stay_small_fast_and_readable(kb: KnowledgeBase, tmp_path: Path) -> None:
    diagnosis = kb.diagnose(written(tmp_path, oom_job(4096, 2768)))
    begun = time.process_time()

    page = diagnosis_page(diagnosis)

    assert time.process_time() - begun < 2.0  # a third of that on a machine that is not busy
    assert len(page) < 1_500_000
    assert len(re.findall(r'class="lane s-', page)) <= MOST_LANES


def test_lanes_that_all_differ_are_put_together(kb: KnowledgeBase) -> None:
    def lane(rank: int) -> Lane:
        place = EventPlace("a.log", rank + 1, rank, f"error of kind {rank}")
        kind = "began" if rank == 7 else "error"
        return Lane((rank,), "collateral", marks=(Mark(kind, f"e{rank}", place, ranks=1, at=float(rank)),))  # type: ignore[arg-type]

    picture = picture_of(Course(tuple(lane(rank) for rank in range(500)), None, 499.0), Quotes())

    assert len(picture.lanes) <= MOST_LANES
    assert any(shown.who == "rank 7" for shown in picture.lanes)
    assert picture.folded > 400


@pytest.mark.parametrize(
    "name",
    [
        "healthy/torchrun-ddp-resnet.log",
        "corpus/dev/inputs/ckpt-module-prefix-keys.log",
        "corpus/dev/inputs/moe-z3-hang-mixtral-pyspy",
        "corpus/dev/inputs/z3-uneven-flightrec",
        "corpus/dev/inputs/keyboard-interrupt-user-stop.log",
        "corpus/dev/inputs/scale-two-attempts-32-torchrun",
        "corpus/dev/inputs/compile-recompile-limit.log",
    ],
)
def test_every_kind_of_input_has_a_page_whose_links_hold(kb: KnowledgeBase, name: str) -> None:
    page = page_of(kb, ROOT / name)
    reader = read(page)

    assert {link[1:] for link in reader.links} <= reader.ids
    assert len(attributes(reader.tags, "id")) == len(set(attributes(reader.tags, "id")))


def test_a_question_has_a_page_too(kb: KnowledgeBase) -> None:
    assert "<h1>" in diagnosis_page(kb.ask("hang first forward mixtral zero3"))


class TestCommand:
    @pytest.fixture
    def log(self, tmp_path: Path) -> Path:
        return written(tmp_path, oom_job(8, 5))

    def test_the_report_is_written_beside_the_answer(self, run: Callable[..., Ran], log: Path, tmp_path: Path) -> None:
        ran = run("diagnose", str(log), "--html", str(tmp_path / "report.html"))

        assert ran.status == 0
        assert ran.out.startswith("MATCHED")
        assert "report.html is written" in ran.err
        assert (tmp_path / "report.html").read_text(encoding="utf-8").lstrip().startswith("<!doctype html>")
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

    def test_a_report_may_be_written_again_and_is_never_read_as_a_log(
        self, run: Callable[..., Ran], log: Path, tmp_path: Path
    ) -> None:
        report = tmp_path / "report.html"
        first = run("diagnose", str(log), "--html", str(report))

        again = run("diagnose", str(log), str(report), "--html", str(report))

        assert again.status == 0
        assert again.out.splitlines()[:2] == first.out.splitlines()[:2]
        assert "a report that denpex wrote" in " ".join(again.out.split())

    def test_anything_else_is_never_written_over(self, run: Callable[..., Ran], log: Path) -> None:
        before = log.read_bytes()

        ran = run("diagnose", str(log), "--html", str(log))

        assert ran.status == 2
        assert "no report of denpex" in ran.err
        assert log.read_bytes() == before

    @pytest.mark.parametrize(
        ("target", "said"),
        [(".", "a folder"), ("missing/report.html", "there is no folder"), ("-", "takes the name of a file")],
    )
    def test_what_cannot_be_written_is_said_before_the_work(
        self, run: Callable[..., Ran], log: Path, tmp_path: Path, target: str, said: str
    ) -> None:
        ran = run("diagnose", str(log), "--html", target if target == "-" else str(tmp_path / target))

        assert (ran.status, ran.out) == (2, "")
        assert said in ran.err

    def test_a_full_disk_does_not_take_the_answer(self, run: Callable[..., Ran], log: Path) -> None:
        if not Path("/dev/full").exists():
            pytest.skip("no /dev/full here")

        ran = run("diagnose", str(log), "--html", "/dev/full")

        assert ran.status == 2
        assert ran.out.startswith("MATCHED")
        assert "cannot be written: No space left on device" in ran.err

    def test_open_shows_the_report_in_the_browser(
        self, run: Callable[..., Ran], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened: list[str] = []
        monkeypatch.setattr("webbrowser.open", opened.append)

        run("diagnose", str(log), "--html", str(tmp_path / "report.html"), "--open")

        assert opened == [(tmp_path / "report.html").as_uri()]

    def test_json_stays_pure_beside_a_report(self, run: Callable[..., Ran], log: Path, tmp_path: Path) -> None:
        ran = run("diagnose", str(log), "--html", str(tmp_path / "report.html"), "--format", "json")

        assert ran.out.startswith("{")
        assert ran.out.rstrip().endswith("}")


def test_secrets_in_the_lines_around_are_hidden(kb: KnowledgeBase, tmp_path: Path) -> None:
    token = "hf_" + "A1b2C3d4E5" * 3
    path = written(tmp_path, f"export HF_TOKEN={token}\n" + oom_job(4, 1).replace("step 3", f"step 3 token={token}"))

    assert token not in page_of(kb, path)


def test_a_diagnosis_without_a_course_has_a_page(kb: KnowledgeBase) -> None:
    diagnosis: Diagnosis = kb.ask("zzz qqq nothing at all")

    assert "No entry of the catalog fits" in diagnosis_page(diagnosis)
