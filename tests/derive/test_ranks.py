"""Who is who: local ranks, labels, pids, devices and hosts become global ranks."""

from __future__ import annotations

import pytest

from denpex_kb.derive.evidence import pci
from denpex_kb.derive.exits import numbers
from tests.derive.scenes import attempts_of, comm, entry, lost, raised, tell

FAULT = "ValueError: batch is empty"


@pytest.mark.parametrize(
    ("lines", "rank"),
    [
        pytest.param(["[default3]:" + line for line in raised(FAULT).split("\n")] + ["[default0]:x"], 3, id="one node"),
        pytest.param(
            [
                f"{node}: [default{local}]:{comm(node * 8 + local, 16, f'n{node}', local)}"
                for node in (0, 1)
                for local in (0, 7)
            ]
            + ["1: [default2]:" + line for line in raised(FAULT).split("\n")],
            10,
            id="a label that counts nodes",
        ),
        pytest.param([f"{r}: [rank{r}]: x" for r in range(8)] + ["5: " + FAULT], 5, id="a label that counts ranks"),
        pytest.param(
            [f"[pod/run-master-0/pytorch] [default{r}]:x" for r in range(4)]
            + [f"[pod/run-worker-0/pytorch] [default{r}]:x" for r in range(4)]
            + ["[pod/run-worker-0/pytorch] [default1]:" + line for line in raised(FAULT).split("\n")],
            5,
            id="replicas of an operator",
        ),
        pytest.param(
            [comm(r, 2, "n1", r) for r in (0, 1)]
            + ["n1:4201:4400 [1] NCCL WARN Cuda failure", lost(0), FAULT, entry(1, 1)],
            1,
            id="an exit code tells whose line it is",
        ),
    ],
)
def test_a_line_gets_its_rank(lines: list[str], rank: int) -> None:
    assert tell(*lines).rank == rank


def test_a_file_is_named_after_its_rank() -> None:
    told = attempts_of(rank0_log=lost(0) + "\n", rank3_log=raised(FAULT) + "\n")[-1]
    assert told.rank == 3


def test_a_name_is_not_believed_where_several_processes_wrote_the_file() -> None:
    told = attempts_of(rank0_eval_log="\n".join([lost(1), lost(2), raised(FAULT)]) + "\n")[-1]
    assert told.began.event is not None
    assert told.began.event.rank is None


def test_pids_of_two_hosts_are_told_apart() -> None:
    told = tell(comm(0, 16, "n1", 0), comm(8, 16, "n2", 0).replace("n2:4208", "n2:4200"))
    assert told.ranks.of_pid(4200, "n1") == 0
    assert told.ranks.of_pid(4200, "n2") == 8
    assert told.ranks.of_pid(4200, None) is None


def test_pids_in_a_row_tell_the_ranks_between() -> None:
    told = tell(comm(0, 8), comm(7, 8))
    assert told.ranks.of_pid(4203, "gpu-01") == 3
    assert told.ranks.of_pid(4290, "gpu-01") is None


def test_the_order_of_the_buses_leaves_one_place_for_a_device() -> None:
    told = tell(comm(0, 4, bus="1b000"), comm(1, 4, bus="43000"), comm(3, 4, bus="9d000"))
    assert told.ranks.of_bus("0000:52:00", "gpu-01") == 2


@pytest.mark.parametrize(
    ("text", "address"), [("4f000", "0:4f:0"), ("0000:4f:00", "0:4f:0"), ("00000001:0B:00.0", "1:b:0"), ("x", None)]
)
def test_bus_addresses_of_kernel_and_nccl_are_the_same(text: str, address: str | None) -> None:
    assert pci(text) == address


@pytest.mark.parametrize(("text", "found"), [("0-3,5", (0, 1, 2, 3, 5)), ("7", (7,)), ("1, 2", (1, 2)), ("", ())])
def test_lists_of_numbers(text: str, found: tuple[int, ...]) -> None:
    assert numbers(text) == found
