"""The shell script that collects on one node: it reads, and writes nothing but its own output."""

from __future__ import annotations

from collections.abc import Sequence

# What of a process's environment is taken; nothing else of it leaves the node.
VARIABLES = (
    "RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|NODE_RANK|GROUP_RANK|ROLE_RANK|MASTER_ADDR|MASTER_PORT"
    "|CUDA_VISIBLE_DEVICES|SLURM_JOB_ID|SLURM_PROCID|SLURM_NODEID|SLURM_LOCALID|SLURM_NTASKS|SLURM_NNODES"
    "|(NCCL|TORCH|TORCHELASTIC|GLOO|FI|UCX)_[A-Z0-9_]+"
)
MARK = "##denpex##"  # in front of the name of each section
_TEMPLATE = r"""set -u
export LC_ALL=C
limit() { if command -v timeout >/dev/null 2>&1; then timeout "$@"; else shift; "$@"; fi; }
section() { printf '\n%s %s\n' '@MARK@' "$1"; }
environment() { tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null; }
variables() { environment "$1" | grep -E '^(@VARIABLES@)=' | grep -Ev '^[^=]*(TOKEN|SECRET|PASS|KEY)'; }
trains() {
  case "$1" in *python*) ;; *) return 1 ;; esac
  case "$1" in *bin/denpex\ *|*-m\ denpex*) return 1 ;; esac
  case "$1" in *torch*|*deepspeed*|*accelerate*|*megatron*|*lightning*) return 0 ;; esac
  variables "$2" | grep -q '^RANK='
}
wanted='@PIDS@'
[ -n "$wanted" ] || for folder in /proc/[0-9]*; do
  pid=${folder#/proc/}
  [ "$pid" != "$$" ] && trains "$(tr '\0' ' ' <"$folder/cmdline" 2>/dev/null)" "$pid" && wanted="$wanted $pid"
done
interpreter=
for pid in $wanted; do
  [ -d "/proc/$pid" ] || { section "process-$pid"; echo "no such process"; continue; }
  section "process-$pid"
  printf 'cmdline: '; tr '\0' ' ' <"/proc/$pid/cmdline"; echo
  variables "$pid"
  for name in wchan status stack; do echo "-- $name"; limit 5 cat "/proc/$pid/$name" 2>&1; echo; done
  first=$(tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | head -n 1)
  case "$first" in /*python*) interpreter=$first ;; esac
  spy=$(command -v py-spy || true)
  [ -n "$spy" ] || case "$first" in /*) [ -x "${first%/*}/py-spy" ] && spy=${first%/*}/py-spy ;; esac
  section "stack-$pid"
  if [ -n "$spy" ]; then
    limit 30 "$spy" dump --nonblocking --pid "$pid" 2>&1
  else
    echo "py-spy is not there: pip install py-spy"
  fi
done
if command -v nvidia-smi >/dev/null 2>&1; then
  section nvidia-smi
  limit 30 nvidia-smi 2>&1
  wanted_of_gpus=index,uuid,pci.bus_id,utilization.gpu,memory.used,temperature.gpu,clocks.sm
  limit 30 nvidia-smi --query-gpu="$wanted_of_gpus" --format=csv 2>&1
fi
section dmesg
{ limit 10 dmesg -T 2>&1 || true; } | tail -n 400
if [ -n "$interpreter" ]; then
  section versions
  limit 60 "$interpreter" -m pip list --format=freeze --disable-pip-version-check 2>&1
fi
job=${SLURM_JOB_ID:-}
for pid in $wanted; do [ -n "$job" ] || job=$(variables "$pid" | sed -n 's/^SLURM_JOB_ID=//p'); done
if [ -n "$job" ] && command -v scontrol >/dev/null 2>&1; then
  section scheduler
  limit 20 scontrol show job "$job" 2>&1
  limit 20 squeue --job "$job" 2>&1
fi
section end
"""


def node_script(pids: Sequence[int] = ()) -> str:
    """Return the script for one node.

    Args:
        pids: the processes to look at; every process that trains, if none are named.
    """
    filled = _TEMPLATE.replace("@VARIABLES@", VARIABLES).replace("@MARK@", MARK)
    return filled.replace("@PIDS@", " ".join(str(int(pid)) for pid in pids))
