#!/usr/bin/env bash
# Make the environments of the slow tests: one with torch for CPU, Transformers and Accelerate, and each DeepSpeed version
# in a folder of its own, to be put on PYTHONPATH.
#
#   tests/repro/make_environments.sh DIR [DEEPSPEED_VERSION...]
#   DENPEX_REPRO=DIR pytest -m slow tests/repro
#
# DeepSpeed on a CPU calls `numactl`, a package of the system's.
set -euo pipefail

root=${1:?usage: make_environments.sh DIR [DEEPSPEED_VERSION...]}
shift
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=(0.14.4 0.16.9 0.18.4)
python=${PYTHON:-python3}

mkdir -p "$root"
if [ ! -x "$root/venv/bin/python" ]; then
    "$python" -m venv "$root/venv"
    "$root/venv/bin/pip" install -q torch==2.13.0 transformers==4.57.6 accelerate==1.12.0 "numpy<2.3" \
        setuptools wheel ninja hjson py-cpuinfo psutil pydantic msgpack einops tqdm packaging py-spy
fi
for version in "${versions[@]}"; do
    target="$root/deepspeed-$version"
    [ -d "$target/deepspeed" ] && continue
    DS_BUILD_OPS=0 "$root/venv/bin/pip" install -q --no-deps --no-build-isolation --target "$target" "deepspeed==$version"
done
ls -d "$root"/deepspeed-*
