"""A made-up log of a job of 64 ranks, as large as wanted, with the failure at its end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

START = datetime(2026, 5, 3, 9, 0, 0)
FAILING = 37
_BLOCK = 4 << 20


def _head(ranks: int) -> Iterator[str]:
    yield "W0503 09:00:00.125000 4711 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable"
    for rank in range(ranks):
        node, local = divmod(rank, 8)
        at = f"gpu-node-{node:02d}:{4800 + local}:{4900 + local} [{local}] NCCL INFO"
        yield f"[rank{rank}]: {at} NCCL version 2.21.5+cuda12.4"
        yield f"[rank{rank}]: {at} Bootstrap : Using eth0:10.0.{node}.7<0>"
        yield f"[rank{rank}]: {at} comm 0x55 rank {rank} nranks {ranks} cudaDev {local} nvmlDev {local} - Init COMPLETE"
    yield "[rank0]: torch 2.6.0+cu124, deepspeed 0.16.4, world_size=64, ZeRO stage 2"


def _step(step: int, ranks: int, chance: random.Random) -> Iterator[str]:
    """Print what a job of that size prints in one step: each rank its line, and now and then something else."""
    now = START + timedelta(seconds=60 + 1.9 * step)
    stamp = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03d}"
    loss = 2.0 + 8.0 / (1 + step / 500)
    for rank in chance.sample(range(ranks), ranks):
        yield (
            f"[rank{rank}]: {stamp} - INFO - trainer.engine - step {step:>7} | loss {loss + rank / 977:.4f} | "
            f"grad_norm {0.4 + rank / 353:.3f} | lr 3.00e-05 | tokens/s {18211 + 13 * rank} | mem 71.3GiB"
        )
        if chance.random() < 0.15:
            yield (
                f"[rank{rank}]: {stamp} - DEBUG - data.loader - worker {rank % 4} shard {step % 512:05d} of "
                f"/data/tokens/train-{step % 512:05d}.bin, prefetched 8 batches in {11.5 + rank:.1f} ms"
            )
    if step % 10 == 0:
        yield (
            f"[rank0]: [{stamp}] [INFO] [logging.py:107:log_dist] [Rank 0] "
            f"step={step}, skipped=0, lr=[3e-05, 3e-05], mom=[(0.9, 0.95), (0.9, 0.95)]"
        )
    if step % 100 == 0:
        yield "\r".join(
            f"[rank0]:  {part / 1000:.0f}%|\u2588\u258f       | {part}/100000 [{part // 60}:07<1:02:11, 1.90s/it]"
            for part in range(step - 4, step + 1)
        )
    if step % 200 == 0:
        yield (
            f"[rank0]: [{now:%Y-%m-%d %H:%M:%S},000] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! "
            "Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768"
        )
    if step % 500 == 0:
        for rank in range(ranks):
            yield (
                f"[rank{rank}]: [{now:%Y-%m-%d %H:%M:%S},500] [INFO] [torch_checkpoint_engine.py:21:save] [Torch] "
                f"Saving /ckpt/global_step{step}/zero_pp_rank_{rank}_mp_rank_00_optim_states.pt..."
            )
            yield (
                f"[rank{rank}]: /opt/venv/lib/python3.11/site-packages/torch/utils/checkpoint.py:87: UserWarning: None "
                "of the inputs have requires_grad=True. Gradients will be None"
            )


def _end(step: int, ranks: int) -> Iterator[str]:
    at = START + timedelta(seconds=60 + 1.9 * step)
    rank = FAILING % ranks
    yield f"[rank{rank}]: Traceback (most recent call last):"
    yield f'[rank{rank}]:   File "/train/train.py", line 20, in <module>'
    yield f"[rank{rank}]:     loss = engine(batch)"
    yield (
        f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU {rank % 8} has a "
        "total capacity of 79.15 GiB of which 1.10 GiB is free. Process 4242 has 78.05 GiB memory in use. Of the "
        "allocated memory 76.20 GiB is allocated by PyTorch, and 310.50 MiB is reserved by PyTorch but unallocated."
    )
    late = at + timedelta(seconds=600)
    for other in range(ranks):
        if other != rank:
            yield (
                f"[rank{other}]:[E{late:%m%d %H:%M:%S}.{500000000 + other} ProcessGroupNCCL.cpp:629] [Rank {other}] "
                f"Watchdog caught collective operation timeout: WorkNCCL(SeqNum={9 * step}, OpType=ALLREDUCE, "
                f"NumelIn=4194304, NumelOut=4194304, Timeout(ms)=600000) ran for 600{other:03d} milliseconds before "
                "timing out."
            )


def write_log(path: Path, size: int, ranks: int = 64, *, seed: int = 7) -> None:
    """Write one log into which all ranks print, of about that many bytes."""
    chance = random.Random(seed)
    written = step = 0
    with path.open("wb") as stream:
        held = list(_head(ranks))
        while written < size:
            step += 1
            held += _step(step, ranks, chance)
            if len(held) > 40_000:
                written += stream.write(("\n".join(held) + "\n").encode())
                held = []
        held += _end(step, ranks)
        stream.write(("\n".join(held) + "\n").encode())


def write_folder(folder: Path, files: int, lines: int = 40) -> None:
    """Write a folder with one small log for each rank; one rank fails."""
    folder.mkdir()
    for rank in range(files):
        body = [
            f"2026-05-03 09:00:{step % 60:02d},000 - INFO - step {step} | loss 2.{step:03d}" for step in range(lines)
        ]
        if rank == FAILING:
            body += [line.split("]: ", 1)[1] for line in _end(lines, 64) if line.startswith(f"[rank{FAILING}]:")]
        (folder / f"rank{rank}.log").write_text("\n".join(body) + "\n", encoding="utf-8")
