"""What is shared holds no names and no secrets, and is diagnosed like the original."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.model.diagnosis import Diagnosis
from denpex_kb.model.secrets import hide_secrets
from denpex_kb.report.copies import learnt
from denpex_kb.report.redact import Redactor
from denpex_kb.report.summary import report
from tests.conftest import CENTRAL, ROOT, Ran

SAMPLES = ROOT / "catalog" / "deepspeed" / CENTRAL
CASES = {
    "hang": SAMPLES / "positive-time-out",
    "mismatch": SAMPLES / "positive-first-step-mismatch",
    "stacks": SAMPLES / "positive-stacks",
}


class Seeds:
    """200 made-up secrets, hosts, e-mail addresses and paths, each in a line as logs hold it."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.secrets = [self._secret(number) for number in range(50)]
        self.hosts = [self._host(number) for number in range(50)]
        self.emails = [
            f"{self._word(6)}.{self._word(7)}@{self._word(5)}-labs.{self._pick(['com', 'ai', 'edu'])}"
            for _ in range(50)
        ]
        self.paths = [self._path(number) for number in range(50)]

    @property
    def all(self) -> list[str]:
        return [*self.secrets, *self.hosts, *self.emails, *self.paths]

    def _pick(self, values: list[str]) -> str:
        return self._random.choice(values)

    def _word(self, length: int) -> str:
        return "".join(self._random.choices(string.ascii_lowercase, k=length))

    def _text(self, length: int, letters: str = string.ascii_letters + string.digits) -> str:
        return "".join(self._random.choices(letters, k=length))

    def _secret(self, number: int) -> str:
        hexes = "0123456789abcdef"
        return [
            "hf_" + self._text(34),
            "sk-proj-" + self._text(40),
            "ghp_" + self._text(36),
            "AKIA" + self._text(16, string.ascii_uppercase + string.digits),
            self._text(40, hexes) + "7",
            "glpat-" + self._text(20),
            "xoxb-" + self._text(24),
            "eyJ" + self._text(20) + "." + self._text(30) + "." + self._text(20),
            self._text(12) + "9!x",
            self._text(40) + "/+8",
        ][number % 10]

    def _host(self, number: int) -> str:
        return [
            f"gpu-node-{self._random.randint(10, 999)}-{number}",
            f"{self._word(6)}{number:03d}.{self._word(7)}.internal",
            f"dgx-{self._word(4)}-{number + 10}",
            f"nid{self._random.randint(100000, 999999)}",
            f"ip-10-{self._random.randint(0, 255)}-{self._random.randint(0, 255)}-{number}.ec2.internal",
        ][number % 5]

    def _path(self, number: int) -> str:
        name, project = self._word(7), self._word(9)
        return [
            f"/home/{name}/{project}/run-{number}",
            f"/mnt/{project}/checkpoints/{name}/step-{number}",
            f"/lustre/{name}/{project}/data.parquet",
            f"s3://{project}-bucket/{name}/ckpt-{number}",
            f"/Users/{name}/src/{project}",
        ][number % 5]

    def lines(self) -> list[str]:
        lines = []
        for number, (secret, host, email, path) in enumerate(
            zip(self.secrets, self.hosts, self.emails, self.paths, strict=True)
        ):
            bare = secret.startswith(("hf_", "sk-", "ghp_", "AKIA", "glpat", "xoxb", "eyJ"))
            named = self._pick(
                ["wandb_api_key: {}", "export AWS_SECRET_ACCESS_KEY={}", "--password {}", '{{"api_key": "{}"}}']
            )
            lines += [
                f"using {secret} for the hub" if bare and number % 2 else named.format(secret),
                self._pick(
                    ["hostname: {}", "{}:4242:4300 [0] NCCL INFO Bootstrap : Using eth0:10.3.4.5<0>", "MASTER_ADDR={}"]
                ).format(host),
                f"job submitted by {email}",
                f"saving to {path}" if number % 2 else f"output_dir='{path}'",
            ]
        return lines


def seeded(folder: Path, target: Path, seeds: Seeds) -> None:
    """Write the sample with the seeds between its first lines, where a set-up is printed."""
    target.mkdir()
    lines = seeds.lines()
    files = sorted(folder.iterdir())
    for number, file in enumerate(files):
        first, *rest = file.read_text(encoding="utf-8").split("\n")
        (target / file.name).write_text("\n".join([first, *lines[number :: len(files)], *rest]), encoding="utf-8")


def shape(diagnosis: Diagnosis) -> object:
    began = diagnosis.initiating
    return (
        diagnosis.verdict,
        [(item.id, item.confidence) for item in diagnosis.hypotheses],
        (began.rank, began.line) if began else None,
        [(item.event, item.count, item.ranks) for item in diagnosis.collateral],
        diagnosis.silent_ranks,
    )


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("seed", [1, 2])
def test_no_seed_survives_in_a_report_and_the_redacted_logs_are_diagnosed_alike(
    kb: KnowledgeBase, tmp_path: Path, case: str, seed: int
) -> None:
    seeds = Seeds(seed)
    original = tmp_path / "original"
    seeded(CASES[case], original, seeds)
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(original.iterdir())}
    redactor = learnt(kb, list(texts.values()))
    copies = tmp_path / "copies"
    copies.mkdir()
    for name, text in texts.items():
        (copies / name).write_text(redactor.redact(text), encoding="utf-8")

    everything = report(kb, [original]) + "".join(path.read_text(encoding="utf-8") for path in copies.iterdir())
    assert len(seeds.all) == 200
    assert [seed for seed in seeds.all if seed in everything] == []
    assert shape(kb.diagnose(copies)) == shape(kb.diagnose(original))


def test_the_same_thing_has_the_same_mark_everywhere_and_lines_stay() -> None:
    text = "hostname: gpu-node-07\n[rank3] on gpu-node-07: lost\n10.1.2.3:29500 and 10.1.2.3\n"
    redactor = Redactor()
    redactor.learn(text)
    clean = redactor.redact(text)

    assert clean == "hostname: host-1\n[rank3] on host-1: lost\n192.0.2.1:29500 and 192.0.2.1\n"
    assert dict(redactor.replaced) == {"host": 1, "address": 1}


def test_a_private_key_is_one_secret_and_the_lines_after_it_keep_their_numbers() -> None:
    text = "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\nBBBB\n-----END OPENSSH PRIVATE KEY-----\nb\n"
    clean = Redactor().redact(text)

    assert "AAAA" not in clean
    assert clean.split("\n").index("b") == text.split("\n").index("b")


@pytest.mark.parametrize(
    "line",
    [
        '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1751, in _call_impl',
        "[enforce fail at /__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:456]",
        "NVRM: Xid (PCI:0000:1b:00): 79, pid=4242, GPU has fallen off the bus.",
        "dataloader needs more of /dev/shm",
        "deepspeed.runtime.zero.stage3 12:00:01 torch 2.6.0+cu124",
        "https://huggingface.co/docs/transformers/main_classes/trainer",
        "127.0.0.1:29500",
        "eos_token: </s>, pad_token_id = 128001, max_new_tokens=512",
    ],
)
def test_what_names_nobody_stays(line: str) -> None:
    redactor = Redactor()
    redactor.learn(line)
    kept = redactor.redact(line)

    assert kept.split("site-packages")[-1] == line.rsplit("site-packages", maxsplit=1)[-1]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("HF_TOKEN=hf_abcdefghijklmnopqrstuvwx", "hf_abcdefghijklmnopqrstuvwx"),
        ("Authorization: Bearer abcdef0123456789", "abcdef0123456789"),
        ("https://alice:pa55w0rd@git.example.org/x", "pa55w0rd"),
        ('{\\"password\\": \\"hunter22\\"}', "hunter22"),
        ("wandb: login --api-key 0123456789abcdef0123", "0123456789abcdef0123"),
        ("key AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("token cut off at the end hf_aBcdefghij", "hf_aBcdefghij"),
    ],
)
def test_a_secret_is_hidden(text: str, secret: str) -> None:
    assert secret not in hide_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install hf_transfer hf_datasets",
        "sk-learn-pipeline-with-a-long-name",
        "Basic configuration is read",
        "eos_token: <|im_end|>, pad_token_id = 151643, special_token='[MASK]'",
        "Invalid user token.",
        "KeyError: 'token_type_ids'",
        "tokens per second: 128256.5",
        "model.config.pad_token_id = tokenizer.pad_token_id",
        'token = os.environ["HF_TOKEN"]',
        "max_new_tokens=512 num_token=1048576",
        "MASTER_ADDR=tcp://10.0.0.1:29500",
        "wandb: Currently logged in",
    ],
)
def test_what_only_sounds_like_a_secret_stays(text: str) -> None:
    assert hide_secrets(text) == text


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
@pytest.mark.parametrize("quiet", [False, True])
def test_no_command_prints_a_secret(run: Callable[..., Ran], tmp_path: Path, form: str, *, quiet: bool) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "Traceback (most recent call last):\n"
        '  File "/train/push.py", line 3, in <module>\n'
        '    api = HfApi(token="hf_abcdefghijklmnopqrstuvwxyzABCD")\n'
        "proj.errors.FrobnicationFailed: refused with hf_abcdefghijklmnopqrstuvwxyzABCD and password=hunter2hunter2\n"
    )
    ran = run("diagnose", str(log), "--format", form, *(["--quiet"] if quiet else []))
    asked = run("ask", log.read_text(), "--format", form)

    for text in (ran.out, ran.err, asked.out, asked.err):
        assert "hf_abc" not in text
        assert "hunter2" not in text


def test_the_last_lines_of_a_report_hold_the_summary(run: Callable[..., Ran]) -> None:
    ran = run("report", str(CASES["hang"]))
    tail = ran.out[ran.out.rindex("## Summary") :]

    assert ran.status == 0
    assert CENTRAL in tail
    assert "verdict: matched" in tail
    assert "## What was replaced" in ran.out


def test_a_report_and_redacted_logs_are_written_where_asked(run: Callable[..., Ran], tmp_path: Path) -> None:
    target, copies = tmp_path / "report.md", tmp_path / "copies"
    ran = run("report", str(CASES["hang"]), "--output", str(target), "--logs", str(copies))

    assert ran.status == 0
    assert ran.out == ""
    assert "## Summary" in target.read_text()
    assert sorted(path.name for path in copies.iterdir()) == sorted(path.name for path in CASES["hang"].iterdir())


KEY = "0123456789abcdef" * 2 + "01234567"


@pytest.mark.parametrize(
    "line",
    [
        f"python train.py --wandb-key {KEY} --epochs 3",
        f"wandb: Using api key {KEY}",
        f'AZURE_STORAGE_KEY="{KEY}=="',
    ],
)
def test_keys_of_any_service_are_hidden(line: str) -> None:
    assert KEY not in hide_secrets(line)


@pytest.mark.parametrize(
    "line",
    ["--label-key some_very_long_label_column", "sort_key=episode_0001_of_the_second_run", "the api key is missing"],
)
def test_keys_that_open_nothing_are_kept(line: str) -> None:
    assert hide_secrets(line) == line


def test_a_user_is_replaced_inside_longer_names_and_a_host_behind_a_hidden_password() -> None:
    redactor = Redactor()
    lines = (
        "/home/jdoe42/x.py at box7.acme.corp\njdoe42-team, run_jdoe42 https://u:[hidden]@box7.acme.corp/x?t=[hidden]"
    )
    redactor.learn(lines)
    redacted = redactor.redact(lines)
    assert "jdoe42" not in redacted
    assert "acme" not in redacted
    assert not redacted.endswith("]")
