#!/usr/bin/env python3
"""Run the scripts beside this file (and those that are held out) in small sandboxes and keep what they print as labelled cases.

A script begins with a block of comments in TOML between `# /// case` and `# ///`:

    run       the shell command, as a user would type it; the script lies there as `name` (train.py when left out)
    env       which set of packages (see ENVIRONMENTS); form, truth, expect, also_ok, initiating_rank as in cases.jsonl
    evidence  a regular expression; the first line it meets is kept as evidence_text
    keep      which files make up the input: `console.log` (stdout and stderr together) when left out
    cut       what a user pasted: "traceback" (from the last one on), "tail:N", "drop:N" (the first N lines are lost)

Each run has its own network, process numbers, host name and /tmp; needs root. Usage: capture.py OUT [--relabel] [ID or ID@ENV ...]
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = Path(os.environ.get("CORPUS_ENVS", "/opt/envs"))
ENVIRONMENTS = {  # name: (folder of the virtual environment, extra PYTHONPATH, how the folder is shown in the logs)
    "new": ("prov-new", "", "miniconda3/envs/train"),
    "new-tv": ("prov-new", str(ROOT / "prov-tv"), "miniconda3/envs/train"),
    "old": ("prov-old", "", "miniconda3/envs/pt24"),
    "mid": ("prov-mid", "", "venvs/llm"),
    "old-tf4.52": ("prov-old", str(ROOT / "prov-tf452"), "miniconda3/envs/pt24"),
    "mid-tb": ("prov-mid", str(ROOT / "prov-tb"), "venvs/llm"),
    "jax": ("prov-jax", "", ".venv"),
    "jaxold": ("prov-jaxold", "", "jaxenv"),
}
for version in ("0.14.4", "0.16.9", "0.18.4"):
    folder = os.environ.get("CORPUS_DEEPSPEED", "/opt/deepspeed")
    ENVIRONMENTS["ds-" + version] = (f"{folder}/venv", f"{folder}/deepspeed-{version}", "envs/ds")
USERS = ("user", "ubuntu", "dev", "trainer", "mluser")
PROJECTS = ("project", "train", "llm", "ws/finetune", "experiments/run7", "src/model")
HOSTS = ("gpu-04", "node17", "trn-worker-2", "lab3", "ml-box", "dgx-02")
IPS = ("10.20.0.11", "10.0.4.17", "192.168.12.40", "172.31.9.8")
SANDBOX = r"""
ip link set lo up; hostname {host}
mount -t tmpfs tmpfs /home; mkdir -p {home}; mount --bind {work} {home}
mount --rbind /tmp /mnt; mount -t tmpfs tmpfs /tmp
for folder in {folders}; do mkdir -p $folder; mount --bind /mnt/${{folder#/tmp/}} $folder; done
ip addr add {ip}/24 dev lo; printf '127.0.0.1 localhost\n{ip} {host}\n' > /tmp/.hosts; mount --bind /tmp/.hosts /etc/hosts
cd {home}; export HOME={userhome} PATH={venv}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
exec timeout -k 5 {limit} bash {control} > {home}/console.log 2>&1
"""
DUMP = r"""
busy() { cat /proc/[0-9]*/stat 2>/dev/null | awk '{ gsub(/\(.*\)/, "x"); sum += $14 + $15 } END { print sum + 0 }'; }
dump_ranks() {  # SECONDS: after that long and when nothing computes any more, py-spy of every rank (or every python)
  sleep "$1"; n=0
  for try in $(seq 20); do before=$(busy); sleep 5; [ $(( $(busy) - before )) -lt 40 ] && break; done
  for p in $(ls /proc | grep -E '^[0-9]+$' | sort -n); do
    exe=$(readlink /proc/$p/exe) || continue
    case "$exe" in *python3*) ;; *) continue;; esac
    r=$(tr '\0' '\n' < /proc/$p/environ 2>/dev/null | sed -n 's/^RANK=//p')
    case "$(tr '\0' ' ' < /proc/$p/cmdline)" in *torchrun*|*"accelerate launch"*|*resource_tracker*) continue;; esac
    if [ -n "$r" ]; then py-spy dump --pid $p > stack.rank$r.txt 2>&1
    else py-spy dump --pid $p > stack.$n.txt 2>&1; n=$((n+1)); fi
  done
  for f in *.out; do cp "$f" "$f.before"; done
  for p in $(ls /proc | grep -E '^[0-9]+$'); do [ $p -gt 1 ] && [ $p != $$ ] && kill -9 $p 2>/dev/null; done
  sleep 1; for f in *.out; do mv "$f.before" "$f"; done
}
"""
BLOCK = re.compile(r"^# /// case\n(.*?)^# ///\n", re.M | re.S)


def read(script: Path) -> dict:
    """The label block of a script."""
    found = BLOCK.search(script.read_text())
    if not found:
        raise SystemExit(f"{script}: no case block")
    return tomllib.loads(re.sub(r"^# ?", "", found.group(1), flags=re.M))


def pick(case_id: str, what: str, choices: tuple[str, ...]) -> str:
    """The same choice for the same case, always."""
    return choices[int(hashlib.sha256(f"{what}|{case_id}".encode()).hexdigest(), 16) % len(choices)]


def scrub(text: str, pairs: list[tuple[str, str]]) -> str:
    """Put plausible paths in the place of this machine's, and leave out what advertises packages."""
    for old, new in pairs:
        text = text.replace(old, new)
    return "".join(line for line in text.splitlines(keepends=True) if "💡 Tip:" not in line)


def cut_as_pasted(text: str, how: str) -> str:
    """Leave what the user pasted."""
    if not how:
        return text
    lines = text.splitlines(keepends=True)
    if how == "traceback":
        starts = [n for n, line in enumerate(lines) if "Traceback (most recent call last)" in line]
        return "".join(lines[starts[-1] :]) if starts else text
    if how == "first-traceback":
        starts = [n for n, line in enumerate(lines) if "Traceback (most recent call last)" in line]
        return "".join(lines[starts[0] :]) if starts else text
    if how.startswith("from:"):
        starts = [n for n, line in enumerate(lines) if re.search(how[5:], line)]
        return "".join(lines[starts[0] :]) if starts else text
    if how.startswith("grep:"):
        return "".join(line for line in lines if re.search(how[5:], line))
    word, number = how.split(":")
    return "".join(lines[-int(number) :] if word == "tail" else lines[int(number) :])


def labelled(name: str) -> tuple[Path, str, dict]:
    """The script, the case's id and its label; `ID@ENV` means the same script with another set of packages."""
    stem, _, other = name.partition("@")
    places = (HERE / f"{stem}.py", HERE.parent / "held-out" / "scripts" / f"{stem}.py")
    script = next((path for path in places if path.exists()), places[0])
    label = read(script)
    return (script, f"{stem}-{other}", {**label, "env": other, "same_run_as": stem}) if other else (script, stem, label)


def run(name: str, out: Path) -> dict:
    """Run one script and keep its input under OUT/inputs and its label as the result."""
    script, case_id, label = labelled(name)
    venv_name, extra, shown = ENVIRONMENTS[label.get("env", "new")]
    venv = Path(venv_name) if venv_name.startswith("/") else ROOT / venv_name
    user, host = pick(case_id, "user", USERS), pick(case_id, "host", HOSTS)
    home = f"/home/{user}/{pick(case_id, 'project', PROJECTS)}"
    work = out / "work" / case_id
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    body = BLOCK.sub("", script.read_text())
    for number, part in enumerate(re.split(r"^# --- file: (\S+)\n", "# --- file: " + label.get("name", "train.py") + "\n" + body, flags=re.M)[1:]):
        if number % 2 == 0:
            target = work / part
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(part.lstrip("\n"))
    control = out / "work" / f"{case_id}.sh"
    control.write_text(DUMP + label["run"] + "\n")
    environment = {
        "HF_HUB_OFFLINE": "1", "LC_ALL": "C.UTF-8", "PYTHONPATH": extra, "CUDA_VISIBLE_DEVICES": "",
        "HF_HOME": "/tmp/hf", "TERM": "dumb", "COLUMNS": "120", "DS_ACCELERATOR": "cpu", "PYTHONUNBUFFERED": "1",
        "USER": user, "OMP_NUM_THREADS": "1", "TRITON_CACHE_DIR": "/tmp/triton", "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor",
        "TQDM_MININTERVAL": "2", "DS_BUILD_OPS": "0", "PATH": os.environ["PATH"],
    }
    for name, value in label.get("environ", {}).items():
        environment[name] = value
    extensions = Path(os.environ.get("CORPUS_EXTENSIONS", out / "extensions")) / label.get("env", "new")
    extensions.mkdir(parents=True, exist_ok=True)  # kept between runs: DeepSpeed builds an op at start on CPUs
    environment["TORCH_EXTENSIONS_DIR"] = str(extensions)
    environment = {key: value for key, value in environment.items() if value != "UNSET"}
    sandbox = SANDBOX.format(
        host=host, ip=pick(case_id, "ip", IPS), home=home, userhome=f"/home/{user}", work=work, venv=venv, limit=label.get("limit", 300), control="/dev/fd/9",
        folders=" ".join({str(folder) for folder in (venv, extra, extensions) if str(folder).startswith("/tmp/")}),
    )
    with control.open() as handle:
        os.dup2(handle.fileno(), 9)
        os.set_inheritable(9, True)
        done = subprocess.run(
            ["unshare", "-numpf", "--kill-child", "--mount-proc", "bash", "-c", sandbox], env=environment, pass_fds=(9,),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )
    shown_path = f"/home/{user}/{shown}"
    ask = "import sys; print(sys.base_prefix, '%d.%d' % sys.version_info[:2])"
    answer = subprocess.run([venv / "bin/python", "-c", ask], capture_output=True, text=True, check=True).stdout
    python, python_version = answer.split()
    pairs = [(str(extensions), f"/home/{user}/.cache/torch_extensions/py_cpu"), (str(venv), shown_path), (python, shown_path)]
    if extra:
        pairs.insert(0, (extra, f"{shown_path}/lib/python{python_version}/site-packages"))
    for file in [path for path in work.rglob("*") if path.is_file() and path.stat().st_size < 5_000_000]:
        try:
            file.write_text(scrub(file.read_text(), pairs))
        except UnicodeDecodeError:
            continue
    return keep(case_id, label, work, out, done.returncode, done.stderr)


def keep(case_id: str, label: dict, work: Path, out: Path, status: int, complaint: str) -> dict:
    """Copy the input of a finished run and write down its label."""
    inputs = out / "inputs"
    inputs.mkdir(exist_ok=True)
    wanted = label.get("keep", ["console.log"])
    cut = label.get("cut", "")
    if len(wanted) == 1 and "*" not in wanted[0]:
        target = inputs / f"{case_id}.log"
        target.write_text(cut_as_pasted((work / wanted[0]).read_text(errors="replace"), cut))
        files = [target]
    else:
        target = inputs / case_id
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        files = []
        for pattern in wanted:
            for path in sorted(work.glob(pattern)):
                if path.is_file() and path.stat().st_size:
                    copy = target / flat_name(path.relative_to(work))
                    copy.write_text(path.read_text(errors="replace"))
                    files.append(copy)
    text = "\n".join(path.read_text(errors="replace") for path in files)
    found = next((line for line in text.splitlines() if re.search(label["evidence"], line)), None)
    case = {
        "id": case_id, "form": label["form"], "input": str(target.relative_to(out)), "truth": label["truth"],
        "expect": label["expect"], "also_ok": label.get("also_ok", []), "initiating_rank": label.get("initiating_rank"), **({"initiating_ranks": label["initiating_ranks"]} if "initiating_ranks" in label else {}),
        "collateral": label.get("collateral"), "evidence": label["evidence"], "evidence_text": (found or "").strip()[:300],
        "source": "reproduced", "difficulty": label.get("difficulty", "medium"), "group": label.get("group", ""),
        "command": label["run"].strip(), "script": f"scripts/{label.get('same_run_as', case_id)}.py", "same_run_as": label.get("same_run_as", case_id), "environment": label.get("env", "new"),
        "exit_code": None if status in (124, 137) else status, "origin": "provoked", "lines": text.count("\n"), "bytes": len(text),
    }
    print(f"{case_id}: exit {status}, {case['lines']} lines, evidence: {case['evidence_text'][:140] or 'NOT FOUND'}", flush=True)
    if complaint.strip():
        print("   sandbox:", complaint.strip()[:300])
    return case


def flat_name(path: Path) -> str:
    """logs/none_x/attempt_0/1/stderr.log -> attempt_0.rank1.stderr.log; anything else keeps its name."""
    parts = path.parts
    if len(parts) >= 4 and parts[-3].startswith("attempt_"):
        attempt = "" if parts[-3] == "attempt_0" else parts[-3] + "."
        return f"{attempt}rank{parts[-2]}.{parts[-1]}"
    return "-".join(parts)


def main() -> None:
    """Run the named scripts, or all that have no case yet."""
    out = Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    (out / "labels").mkdir(exist_ok=True)
    done = {path.stem for path in (out / "labels").glob("*.json")} | {"capture", "divide"}
    again = "--relabel" in sys.argv  # after a label was corrected: the printed output stays as it is
    named = [word for word in sys.argv[2:] if word != "--relabel"]
    for case_id in named or [path.stem for path in sorted(HERE.glob("*.py")) if path.stem not in done]:
        if again:
            _, stem, label = labelled(case_id)
            status = json.loads((out / "labels" / f"{stem}.json").read_text())["exit_code"]
            case = keep(stem, label, out / "work" / stem, out, status, "")
        else:
            case = run(case_id, out)
        (out / "labels" / f"{case['id']}.json").write_text(json.dumps(case, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
