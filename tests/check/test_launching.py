"""How a job is started: what its launch shows by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.check.run import check_paths

OWN_WORLD = "torchrun-each-node-own-world"


def findings(command: str, folder: Path, kb: KnowledgeBase) -> list[str]:
    (folder / "run.sh").write_text(f"#!/bin/bash\n{command}\n", encoding="utf-8")
    return [item.id for item in check_paths([folder], kb.index).findings]


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=0 --master_addr=127.0.0.1 --master_port 29500 train.py",
        "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=1 --master_addr=10.0.0.1 --master_port 29500 train.py",
        "accelerate launch --num_machines 2 --machine_rank 0 --main_process_ip 127.0.0.1 --num_processes 8 train.py",
    ],
)
def test_the_node_that_holds_the_store_may_call_itself_localhost(
    command: str, tmp_path: Path, kb: KnowledgeBase
) -> None:
    assert OWN_WORLD not in findings(command, tmp_path, kb)


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=1 --master_addr=127.0.0.1 --master_port 29500 train.py",
        "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$RANK --master_addr=localhost train.py",
        "torchrun --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=localhost:29400 train.py",
    ],
)
def test_a_node_that_looks_for_the_others_at_home_is_warned_of(command: str, tmp_path: Path, kb: KnowledgeBase) -> None:
    assert OWN_WORLD in findings(command, tmp_path, kb)
