"""Names in logs that say whose cluster it is: hosts, users, addresses, paths; found by where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# Hosts and addresses that everybody shares: they tell nothing of the user, and much of the failure.
_PUBLIC = re.compile(
    r"(?:^|\.)(?:huggingface\.co|hf\.co|github\.com|githubusercontent\.com|pytorch\.org|python\.org|nvidia\.com|wandb\.ai"
    r"|readthedocs\.io|deepspeed\.ai|example\.(?:org|com|net)|anaconda\.(?:org|com)|docker\.io|kubernetes\.io|ray\.io"
    r"|tensorflow\.org|googleapis\.com|amazonaws\.com)$"
)
_PUBLIC_V4 = re.compile(r"^(?:127\.|0\.0\.0\.0$|255\.255\.|192\.0\.2\.)")
_TLD = (
    "com|net|org|edu|gov|io|ai|dev|co|de|uk|fr|ch|nl|eu|cn|jp|kr|in|us|ca|au|se|no|fi|it|es|pl|internal|local|lan|corp"
    "|intra|home|cluster|cloud|svc|domain|localdomain|test|invalid"
)
_NAME = r"[A-Za-z][A-Za-z0-9_-]{1,62}(?:\.[A-Za-z0-9-]{1,63})*"

EMAIL = re.compile(r"\b[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+\b")
IPV4 = re.compile(r"(?<![\w.=-])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w-]|\.\d)")
IPV6 = re.compile(
    r"(?<![\w:.])(?:(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|(?:[0-9a-fA-F]{1,4}:){1,6}(?::[0-9a-fA-F]{1,4}){1,6}"
    r"|(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2})(?![\w:]|\.\d)"
)
BUCKET = re.compile(r"\b(s3a?|gs|hdfs|az|abfss?|oss|cos|lustre|swift)://[^\s\"'<>|,;)\]}]{2,400}")
URL = re.compile(
    r"\b(https?|ssh|git|ftp)://((?:[^\s/@\"']{1,200}@)?)([\w.-]{1,253}|\[[0-9a-fA-F:]+\])(:\d{1,5})?"
    r"(/(?:\[hidden\]|[^\s\"'<>)\]}]){1,400})"
)
PATH = re.compile(r"(?<![\w/.\\~-])(?:~|/)(?:[\w.@%+=~-]{1,200}/)*[\w.@%+=~-]{1,200}/?")
_FQDN = re.compile(rf"(?<![\w.@/-])(?:[A-Za-z0-9][A-Za-z0-9-]{{0,62}}\.){{1,6}}(?:{_TLD})(?![\w-]|\.\w|\()")
_LIKE_NODE = re.compile(
    r"(?<![\w./@-])(?:[a-z][a-z0-9]{0,20}[-_])*(?:node|gpu|worker|compute|dgx|hgx|host|srv|server|login|nid|slurm|ip)"
    r"(?:[-_][a-z0-9]{1,12}){0,4}(?:[-_]\d{1,6}|\d{2,6})(?:-\d{1,3}){0,3}(?![\w/-]|\.py)"
)
_IN_CONTEXT = (
    re.compile(
        rf"(?i)\b(?:host(?:name)?|node(?:_?name)?|nodelist|master_addr|rdzv_endpoint|rdzv-endpoint|server|machine|SLURMD_NODENAME)"
        rf"\b[\"']?\s{{0,2}}[=:]\s{{0,2}}[\"']?({_NAME})"
    ),
    re.compile(rf"(?m)^(?:\S{{0,40}} )?({_NAME}):\d{{1,7}}:\d{{1,7}} \[\d{{1,2}}\] NCCL"),
    re.compile(rf"\b[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d ({_NAME}) (?:kernel|systemd|nvidia|slurmd|dockerd)"),
    re.compile(rf"\b(?:tcp|udp|https?|rdma|ssh)://(?:[^\s/@]{{1,80}}@)?({_NAME})"),
    re.compile(rf"(?i)\bconnect(?:ion)? (?:to|from|with) \[?({_NAME})\]?[:,] ?\d{{2,5}}\b"),
    re.compile(rf"(?i)\b(?:srun|slurmstepd): error: ({_NAME}): "),
    re.compile(rf"\bNode(?:s|List)?=({_NAME})"),
)
_USER = (
    re.compile(r"(?:/home|/Users|/users|/nfs/home|/export/home|/data/home)/([A-Za-z][\w.-]{1,40})"),
    re.compile(
        r"(?i)\b(?:user(?:name)?|owner|login|uid|submitted by|UserId)[\"']?\s{0,2}[=:]\s{0,2}[\"']?"
        r"([A-Za-z][\w.-]{2,40})"
    ),
    re.compile(r"(?<![\w.])([a-z][\w.-]{1,31})@(?=[a-z][a-z0-9-]{2,60}[:~ ])"),
)
_COMMON = frozenset(
    re.findall(
        r"\S+",
        """
        root user users train training data model models none null true false main default localhost home admin ubuntu
        name id rank error warning info debug local global process worker gpu cuda nccl torch python host node server
        unknown static c10d etcd file env tcp the this that for and not with from auto all any self master launcher
        agent
        """,
    )
)


def hosts_in(text: str) -> Iterator[str]:
    """Yield the names of hosts in a text."""
    for pattern in _IN_CONTEXT:
        for match in pattern.finditer(text):
            name = match.group(1).rstrip(".")
            if _is_name(name) and (re.search(r"[\d.-]", name) or len(name) > 5):
                yield name
    for pattern in (_FQDN, _LIKE_NODE):
        for match in pattern.finditer(text):
            if _is_name(match.group(0)):
                yield match.group(0)


def users_in(text: str) -> Iterator[str]:
    """Yield the names of users in a text."""
    for pattern in _USER:
        for match in pattern.finditer(text):
            name = match.group(1).rstrip(".-")
            if name.lower() not in _COMMON and len(name) > 1:
                yield name


def _is_name(name: str) -> bool:
    return (
        name.lower() not in _COMMON
        and not _PUBLIC.search(name.lower())
        and not re.search(r"\.(?:py|cpp|cc|json)$", name)
    )


def is_public_host(name: str) -> bool:
    """Say whether a host is one that everybody uses."""
    return _PUBLIC.search(name.lower()) is not None


def is_public_address(address: str) -> bool:
    """Say whether an address is that of every machine, or reserved for examples."""
    return bool(_PUBLIC_V4.match(address)) or address in ("::1", "::") or address.lower().startswith("2001:db8:")


def shortened(names: Iterable[str]) -> list[str]:
    """Add the short form of each full name (`gpu-07` of `gpu-07.acme.internal`), the longest first."""
    found = dict.fromkeys(names)
    for name in list(found):
        short = name.partition(".")[0]
        if short != name and short.lower() not in _COMMON and re.search(r"\d|-", short):
            found.setdefault(short)
    return sorted(found, key=lambda name: (-len(name), name))


# Folders from which on a path is that of a library or of the system, the same on every machine.
_KNOWN = re.compile(
    r"/(?:(?:lib/python3[.\d]*/)?(?:site|dist)-packages|lib/python3[.\d]*|transformers_modules|torch_extensions|torchinductor_[^/]*"
    r"|third_party|torch/csrc|aten/src|c10/(?:cuda|core|util)|nccl/src)(?:/|$)"
)
_SYSTEM = re.compile(
    r"^/(?:dev|proc|sys|usr|lib|lib64|bin|sbin|etc|run|__w|pytorch|boot|dir-\d+|nccl_trace_rank_\d*)(?:/|$)"
    r"|^/tmp/(?:nccl|torch|py-spy)|^/var/(?:log|run|lib)(?:/|$)|^(?:~|/root)/\.cache(?:/|$)"
)
_CODE = re.compile(r"^[\w.-]{1,60}\.(?:py|yaml|yml|json|sh|log|out|err|toml|cfg|txt|md|cu|cpp|cc|h|jsonl)$")


# Ends of names that software gives to its own files: what failed is often told by them.
_GIVEN = re.compile(
    r"(?:(?:-(?:GPT|T5|BERT|Blended|Multimodal)Dataset)?-(?:train|valid|test)-\w{1,40}index\.npy"
    r"|-BlendedDataset-\w{1,12}-dataset_(?:sample_)?index\.npy|_(?:doc|sample|shuffle)_idx\.npy"
    r"|(?:(?:bf16_)?zero_pp_rank_\d+_)?mp_rank_\d+_(?:model|optim)_states\.pt|rng_state(?:_\d+)?\.pth"
    r"|(?:optimizer|scheduler|scaler|training_args)\.(?:pt|bin)|(?:pytorch_|adapter_)?model[\w.-]{0,40}\.(?:bin|safetensors)"
    r"|global_step\d+|checkpoint-\d+|latest|__\d+_\d+\.distcp|\.metadata)$"
)


def split_path(path: str) -> tuple[str, str] | None:
    """Split a path into what is the user's and what may stay; None where all of it may stay."""
    if _SYSTEM.match(path) or path in ("/", "~") or re.fullmatch(r"/[\w.-]{1,3}", path):
        return None
    known = _KNOWN.search(path)
    if known is not None:
        return (path[: known.start()], path[known.start() :]) if known.start() else None
    folder, _, name = path.rstrip("/").rpartition("/")
    given = _GIVEN.search(path.rstrip("/"))
    if given is not None and given.start() > 0:
        at_start = path[given.start() - 1] == "/"
        return path[: given.start()].rstrip("/"), f"/{'' if at_start else 'file'}{given.group(0)}"
    if folder and _CODE.match(name):
        return folder, f"/{name}"
    return path.rstrip("/"), "/" if path.endswith("/") else ""
