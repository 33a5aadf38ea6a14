"""Large multi-rank logs, small here: who began it is found, no victim is blamed; `python -m tests.scale` does many."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.model.diagnosis import Diagnosis, Hypothesis, Initiating, InputInfo
from tests.scale.grid import forms_of, play, setups
from tests.scale.job import Job, Setup
from tests.scale.label import Cause, Label
from tests.scale.layouts import FORMS, folded, lines_of
from tests.scale.lines import NCCL, entries, printed
from tests.scale.measure import Result, asked, judge, measure, report
from tests.scale.parts import PATH, drawn, is_set_aside, listed
from tests.scale.scenarios import SCENARIOS
from tests.scale.shown import shows

SEED = 20261201
SMALL = (16, 32)


def test_most_of_a_sample_of_all_scenarios_is_read_right(kb: KnowledgeBase, tmp_path: Path) -> None:
    results = [measure(kb, setup, tmp_path) for setup in setups(len(SCENARIOS), SMALL, SEED)]

    assert asked(results, "rank").share >= 0.75
    assert asked(results, "null").share >= 0.75
    assert asked(results, "entry").share >= 0.75
    assert asked(results, "consequence").share >= 0.8
    assert asked(results, "quiet").share >= 0.75


def test_the_same_set_up_gives_the_same_lines() -> None:
    for setup in setups(len(SCENARIOS), (16,), SEED):
        assert lines_of(play(setup)[0]) == lines_of(play(setup)[0]), setup


def test_another_seed_gives_another_job() -> None:
    one = Setup(scenario="oom-one-rank", form="torchrun/tee", ranks=16, torch="2.6", seed=1)
    other = Setup(scenario="oom-one-rank", form="torchrun/tee", ranks=16, torch="2.6", seed=2)

    assert lines_of(play(one)[0]) != lines_of(play(other)[0])


def test_every_scenario_has_a_form_and_every_form_a_scenario() -> None:
    assert all(forms_of(scenario) for scenario in SCENARIOS.values())
    assert {form for scenario in SCENARIOS.values() for form in forms_of(scenario)} == set(FORMS)


def test_labels_name_entries_that_exist_and_ranks_of_the_job(kb: KnowledgeBase) -> None:
    known = {*kb.index.ids(), "STALLED"}
    for setup in setups(2 * len(SCENARIOS), (16, 32), SEED):
        label = play(setup)[1]
        for cause in (label.cause, *label.attempts, *([label.also] if label.also else [])):
            assert set(cause.expect) <= known, setup
            assert cause.rank is None or 0 <= cause.rank < setup.ranks
        assert label.consequences <= known


def test_what_a_label_asks_stands_in_the_files() -> None:
    hidden = []
    for scenario in SCENARIOS:
        for form in forms_of(SCENARIOS[scenario]):
            for setup in setups(1, (16, 32), SEED, [scenario], [form]):
                job, label = play(setup)
                if not shows(job, label, lines_of(job)):
                    hidden.append(setup.name)

    assert hidden == []


@pytest.mark.parametrize(
    ("scenario", "form"), [("oom-one-rank", "torchrun/tee"), ("one-rank-never-comes", "srun/rank")]
)
def test_a_log_without_the_words_of_its_label_does_not_show_it(scenario: str, form: str) -> None:
    job, label = play(Setup(scenario=scenario, form=form, ranks=16, torch="2.6", seed=1))
    words = label.shown or (f"[rank{(label.cause.rank or 0) - 1}]:[E",)  # of one that waited
    files = {name: [line for line in lines if words[0] not in line] for name, lines in lines_of(job).items()}

    assert shows(job, label, lines_of(job))
    assert not shows(job, label, files)


def test_a_third_of_the_pairs_of_scenario_and_launcher_is_set_aside() -> None:
    pairs = {(name, FORMS[form].launcher) for name in SCENARIOS for form in forms_of(SCENARIOS[name])}

    assert sorted(listed()) == drawn(), f"write into {PATH.name} what `drawn()` gives"
    assert 0.25 < len(drawn()) / len(pairs) < 0.42
    assert {launcher for _, launcher in listed()} == {form.launcher for form in FORMS.values()}


def test_of_what_is_set_aside_a_report_gives_the_figures_alone() -> None:
    chosen = [setup for setup in setups(4 * len(SCENARIOS), (16,), SEED) if is_set_aside(setup)][:3]
    results = [Result(setup, play(setup)[1], setup.name, {"rank": False}, "wrong", 1.0) for setup in chosen]
    written = report(results)

    assert "set aside: 3 logs" in written
    assert "0/3" in written
    assert not any(setup.scenario in written for setup in chosen)


def test_every_message_says_where_it_was_read() -> None:
    for name, entry in entries().items():
        assert len(entry.source) > 10, name
        assert entry.text or entry.since, name


@pytest.mark.parametrize("release", NCCL)
def test_a_message_is_written_as_its_release_prints_it(release: str) -> None:
    (line, *_) = printed("py.cuda_oom", release, local=3, pid=7, want=1, free=1, used=1, alloc=1, idle=1)

    assert line.startswith("torch.OutOf" if release in ("2.5", "2.6", "2.7", "2.8") else "torch.cuda.OutOf")


def test_the_dead_print_nothing_more() -> None:
    job = Job(Setup(scenario="x", form="srun/label", ranks=16, torch="2.6", seed=1), "srun")
    job.silence(10, [3])
    job.say(9, 3, "alive")
    job.say(11, 3, "dead")
    job.say(11, 4, "another")

    assert lines_of(job) == {"": [" 3: alive", " 4: another"]}


def test_ray_folds_what_several_workers_print_within_five_seconds() -> None:
    job = Job(Setup(scenario="x", form="ray/folded", ranks=16, torch="2.6", seed=1), "ray")
    for rank in (0, 1, 2):
        job.say(rank, rank, f"[rank{rank}] it failed")
    job.say(20, 5, "later")
    lines = [line.partition(") ")[2] for _, line in folded(job, job.printed())]

    assert lines[0] == "[rank0] it failed"
    assert lines[1].startswith("[rank2] it failed [repeated 2x across cluster] (Ray deduplicates")
    assert lines[2:] == ["later"]


def diagnosis(entry: str, rank: int | None) -> Diagnosis:
    return Diagnosis(
        verdict="matched",
        input=InputInfo("logs"),
        hypotheses=(Hypothesis(entry, "", 0.9, "initiating"),),
        initiating=Initiating(rank=rank),
        scope="rank",
    )


def test_a_victim_named_as_the_cause_counts_against_a_diagnosis() -> None:
    label = Label(what="", cause=Cause(("dataloader-worker-exception",), 3), scope=("rank",))

    assert all(judge(diagnosis("dataloader-worker-exception", 3), label).values())
    wrong = judge(diagnosis("dist-nccl-watchdog-timeout", 5), label)
    assert wrong == {"rank": False, "entry": False, "consequence": False, "scope": True}


def test_no_rank_is_no_victim() -> None:
    label = Label(what="", cause=Cause(("dataloader-worker-exception",), 3))

    assert judge(diagnosis("dataloader-worker-exception", None), label) == {
        "rank": False,
        "entry": True,
        "consequence": True,
    }
