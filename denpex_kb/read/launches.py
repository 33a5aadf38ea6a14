"""The commands of a shell script → launches of training: launcher, its options, the script and the script's options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from denpex_kb.read.shell import Script, Word, read_shell, slurm_options

_PYTHON = re.compile(r"^(?:.*/)?python(?:3(?:\.\d+)?)?$")
_RUN_MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torch.distributed.launch",
    "deepspeed.launcher.runner": "deepspeed",
    "accelerate.commands.launch": "accelerate",
}
_WITH_CONFIG = {"llamafactory-cli": "llama-factory", "axolotl": "axolotl", "swift": "ms-swift", "trl": "trl"}
# options of the launchers that take no value
_FLAGS = frozenset(
    [
        "standalone", "use_env", "no_python", "module", "multi_gpu", "use_deepspeed", "use_fsdp", "use_megatron_lm",
        "cpu", "tpu", "debug", "force_multi", "save_pid", "enable_elastic_training", "enable_each_rank_log", "quiet",
        "bind_cores_to_rank", "no_local_rank", "no_ssh", "m", "same_network", "use_cpu",
    ]
)  # fmt: skip
_DOCKER_FLAGS = frozenset(["rm", "it", "i", "t", "d", "detach", "privileged", "init", "interactive", "tty"])


class Launch(Struct, frozen=True, kw_only=True):
    """One start of a training job, as a script states it."""

    line: int
    launcher: str  # torchrun | torch.distributed.launch | deepspeed | accelerate | python | cli | server
    framework: str | None = None  # what the command line of a framework stands for: llama-factory, axolotl, …
    options: dict[str, str]  # of the launcher, in one spelling
    script: str | None = None
    arguments: dict[str, str]  # of the script
    files: tuple[str, ...] = ()  # config files that are named without an option
    variables: dict[str, str]  # set in front of the command
    srun: dict[str, str] | None = None
    expanded_early: bool = False  # variables are expanded by the batch shell, not by each task
    nohup: bool = False
    background: bool = False
    docker: tuple[str, ...] | None = None  # options of docker run


def launches(script: Script) -> Iterator[Launch]:
    """Go through the starts of training in a script."""
    for word in script.words:
        yield from _from_word(word, depth=0)


def _from_word(word: Word, depth: int) -> Iterator[Launch]:
    state: dict[str, object] = {"srun": None, "expanded_early": True, "nohup": False, "docker": None}
    words: list[str] | None = list(word.words)
    variables = dict(word.assigned)
    bare: list[str] = []
    while words:
        bare = words
        if PurePosixPath(words[0]).name in ("bash", "sh") and depth < 2 and (inner := _inner(words)) is not None:
            yield from _nested(inner, word, state, variables, depth)
            return
        words = _unwrapped(words, state, variables)
    launch = _launch(bare)
    if launch is not None:
        yield Launch(line=word.line, variables=variables, background=word.background, **launch, **state)  # type: ignore[arg-type]


def _unwrapped(words: list[str], state: dict[str, object], variables: dict[str, str]) -> list[str] | None:
    """Take a wrapper such as srun or nohup off a command and note what it says; None where there is none."""
    head = PurePosixPath(words[0]).name
    if head == "srun":
        state["srun"], rest = slurm_options(words[1:])
        return rest
    if head in ("nohup", "setsid", "stdbuf", "exec", "numactl", "env", "unbuffer", "xvfb-run"):
        state["nohup"] = state["nohup"] or head == "nohup"
        rest = _behind_options(words[1:])
        while rest and re.match(r"^[A-Za-z_]\w*=", rest[0]):
            name, _, value = rest.pop(0).partition("=")
            variables[name] = value
        return rest
    if head in ("uv", "poetry", "pipenv", "conda", "micromamba") and words[1:2] == ["run"]:
        return _behind_options(words[2:])
    if head in ("docker", "podman", "nvidia-docker") and "run" in words[1:3]:
        state["docker"], rest = _docker(words[words.index("run") + 1 :])
        return rest
    if head in ("singularity", "apptainer") and "exec" in words:
        image = next((at for at, item in enumerate(words) if item.endswith((".sif", ".simg"))), len(words))
        return words[image + 1 :]
    return None


def _inner(words: Sequence[str]) -> str | None:
    for index, item in enumerate(words[1:], 1):
        if re.fullmatch(r"-\w*c", item) and index + 1 < len(words):
            return words[index + 1]
    return None


def _nested(
    inner: str, word: Word, state: dict[str, object], variables: dict[str, str], depth: int
) -> Iterator[Launch]:
    for item in read_shell(inner, word.line).words:
        merged = Word(word.line, item.words, {**variables, **item.assigned}, word.background or item.background)
        for launch in _from_word(merged, depth + 1):
            yield Launch(
                **{name: getattr(launch, name) for name in launch.__struct_fields__}
                | {name: value for name, value in state.items() if value}
                | {"expanded_early": False}
            )


def _behind_options(words: Sequence[str]) -> list[str]:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 1 if "=" in words[at] or words[at] in ("-oL", "-eL", "--no-capture-output", "-i") else 2
    return list(words[at:])


def _docker(words: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    options: list[str] = []
    at = 0
    while at < len(words) and words[at].startswith("-"):
        name, sign, _ = words[at].partition("=")
        options.append(words[at])
        at += 1
        if not sign and name.lstrip("-") not in _DOCKER_FLAGS and at < len(words):
            options[-1] += "=" + words[at]
            at += 1
    return tuple(options), list(words[at + 1 :])


def _launch(words: list[str]) -> dict[str, object] | None:
    if not words:
        return None
    head, rest = PurePosixPath(words[0]).name, words[1:]
    if head in _WITH_CONFIG:
        return _framework(_WITH_CONFIG[head], rest)
    if head == "vllm" and rest[:1] == ["serve"]:
        return _made("server", {}, None, rest[1:])
    if head == "accelerate" and rest[:1] == ["launch"]:
        return _with_script("accelerate", rest[1:])
    if head in ("torchrun", "deepspeed"):
        return _with_script(head, rest)
    return _python(rest) if _PYTHON.match(words[0]) else None


def _python(rest: list[str]) -> dict[str, object] | None:
    while rest and rest[0].startswith("-") and rest[0] != "-m":
        rest = rest[1:]
    if rest[:1] == ["-m"] and len(rest) > 1:
        module = rest[1]
        if module in _RUN_MODULES:
            return _with_script(_RUN_MODULES[module], rest[2:])
        return _module("python", {}, module, rest[2:])
    if rest and rest[0].endswith(".py"):
        return _made("python", {}, rest[0], rest[1:])
    return None


def _framework(framework: str, rest: list[str]) -> dict[str, object] | None:
    if not rest or rest[0] == "vllm-serve":
        return _made("server", {}, None, rest[1:]) if rest else None
    if rest[0] in (
        "export",
        "chat",
        "webchat",
        "webui",
        "version",
        "env",
        "api",
        "infer",
        "preprocess",
        "fetch",
        "merge-lora",
    ):
        return None
    return {**_made("cli", {}, None, rest[1:]), "framework": framework}


def _with_script(launcher: str, words: list[str]) -> dict[str, object] | None:
    options: dict[str, str] = {}
    at = 0
    while at < len(words):
        item = words[at]
        if item in ("-m", "--module") and at + 1 < len(words):
            return _module(launcher, options, words[at + 1], words[at + 2 :])
        if not item.startswith("-"):
            if item.endswith(".py"):
                return _made(launcher, options, item, words[at + 1 :])
            return _made(launcher, options, None, words[at + 1 :])
        name, sign, value = item.lstrip("-").partition("=")
        name = name.replace("-", "_")
        at += 1
        if not sign:
            value = "true"
            if (
                name not in _FLAGS
                and at < len(words)
                and not words[at].startswith("-")
                and not words[at].endswith(".py")
            ):
                value = words[at]
                at += 1
        options[name] = value
    return None


def _module(launcher: str, options: dict[str, str], module: str, rest: list[str]) -> dict[str, object]:
    made = _made(launcher, options, module.replace(".", "/") + ".py", rest)
    if module == "axolotl.cli.train":
        made["framework"] = "axolotl"
    if module.startswith("openrlhf."):
        made["framework"] = "openrlhf"
    return made


def _made(launcher: str, options: dict[str, str], script: str | None, rest: Sequence[str]) -> dict[str, object]:
    arguments, files = script_options(rest)
    return {"launcher": launcher, "options": options, "script": script, "arguments": arguments, "files": tuple(files)}


def script_options(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Read `--name value` pairs (dashes as underscores; without a value: true), and the other words."""
    options: dict[str, str] = {}
    others: list[str] = []
    at = 0
    while at < len(words):
        item = words[at]
        at += 1
        if not item.startswith("--") or len(item) < 3:
            others.append(item)
            continue
        name, sign, value = item[2:].partition("=")
        if not sign:
            value = "true"
            if at < len(words) and not (words[at].startswith("-") and not re.match(r"^-[\d.]", words[at])):
                value = words[at]
                at += 1
        options[name.replace("-", "_")] = value
    return options, others
