#!/usr/bin/env bash
# Prints the path of an interpreter that can import SGLang trees on a machine without a GPU, or of a
# tree: the folder that holds sglang/, of a release from PyPI.
#
#   scripts/sglang_env.sh                  an interpreter
#   scripts/sglang_env.sh --tree 0.5.21    a tree
#
#   fanoutbench --python "$(scripts/sglang_env.sh)" --reference sglang:0.5.22 --candidate sglang:0.5.23
#
# An active environment ($VIRTUAL_ENV) that has the packages is taken as it is. Otherwise one is made
# of scripts/sglang_requirements.txt, in ${XDG_CACHE_HOME:-$HOME/.cache}/fanoutbench/sglang-HASH, where
# HASH covers the requirements and the interpreter's version: a change of either makes a new one, and a
# second call with neither changed does nothing. It takes 6 GB of disk, most of it torch with the CUDA
# libraries that it is linked with, 2.5 GB of which are downloaded; where this was written that took
# 2 minutes. A tree takes 130 MB and some seconds. Both are made beside their place and then renamed, so
# a call that was killed leaves nothing that looks finished. PYTHON names the interpreter to start from.
#
# Standard output has the path alone, standard error the progress.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"

python="${PYTHON:-python3}"
requirements="$here/sglang_requirements.txt"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/fanoutbench"
needed_kb=7000000 # while it is made: the environment, and pip's copy of the largest package

say() { echo "scripts/sglang_env.sh: $*" >&2; }

# The modules without which a tree of the known releases does not import; their presence is looked
# up, and nothing is imported.
missing_modules() {
    "$1" - <<'PY'
import importlib.util, sys
if sys.version_info < (3, 11):
    print("Python 3.11 or later")
names = """torch torchvision transformers tokenizers msgspec zmq numpy scipy psutil setproctitle pybase64 pydantic orjson
requests regex PIL starlette fastapi uvicorn uvloop python_multipart aiohttp IPython dill einops pynvml openai distro
compressed_tensors gguf sentencepiece zstandard partial_json_parser tvm_ffi xgrammar triton""".split()
print(*[name for name in names if importlib.util.find_spec(name) is None])
PY
}

check_python() {
    if ! command -v "$python" >/dev/null; then
        say "no interpreter '$python' in PATH; install Python 3.11 or later, or set PYTHON"
        exit 1
    fi
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        say "$python is $("$python" -V 2>&1), want Python 3.11 or later"
        exit 1
    fi
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        say "$python has no venv module; on Debian: apt-get install python3-venv"
        exit 1
    fi
}

# Makes the folder $1 by the function $2, which gets a folder to fill: whole or not at all.
make_whole() {
    local place="$1" making
    mkdir -p "$cache"
    making="$(mktemp -d "$cache/making-sglang-XXXXXX")"
    # shellcheck disable=SC2064 # the folder's name now, not then
    trap "rm -rf '$making'" EXIT
    "$2" "$making" >&2
    # os.rename refuses a target that somebody else has filled meanwhile; theirs is as good as ours.
    if ! "$python" -c 'import os, sys; os.rename(*sys.argv[1:])' "$making" "$place" 2>/dev/null &&
        [ ! -d "$place" ]; then
        say "cannot rename $making to $place"
        exit 1
    fi
}

fill_environment() {
    local free
    free="$(df -Pk "$cache" | awk 'NR == 2 { print $4 }')"
    if [ "$free" -lt "$needed_kb" ]; then
        say "$cache has $((free / 1000000)) GB free, want $((needed_kb / 1000000)) GB"
        exit 1
    fi
    say "installing $(grep -c '==' "$requirements") packages: 6 GB of disk, 2.5 GB of them to download"
    "$python" -m venv "$1"
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --requirement "$requirements"
    # A moved environment's scripts name their old place; only its interpreter is used.
    rm -f "$1"/bin/activate* "$1"/bin/Activate*
}

environment() {
    local lacking hash place
    if [ -n "${VIRTUAL_ENV-}" ] && [ -x "$VIRTUAL_ENV/bin/python" ]; then
        lacking="$(missing_modules "$VIRTUAL_ENV/bin/python")"
        if [ -z "${lacking//[[:space:]]/}" ]; then
            echo "$VIRTUAL_ENV/bin/python"
            return
        fi
        say "the active environment $VIRTUAL_ENV lacks: $lacking; it is left alone"
    fi
    check_python
    hash="$("$python" - "$requirements" <<'PY'
import hashlib, sys
text = open(sys.argv[1], "rb").read() + sys.version.encode()
print(hashlib.sha256(text).hexdigest()[:16])
PY
    )"
    place="$cache/sglang-$hash"
    [ -d "$place" ] || make_whole "$place" fill_environment
    echo "$place/bin/python"
}

fill_tree() {
    local wheels
    wheels="$(mktemp -d "$1/wheels-XXXXXX")"
    say "fetching sglang $version from PyPI"
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary sglang --dest "$wheels" "sglang==$version"
    "$python" -m zipfile -e "$wheels"/sglang-*.whl "$1"
    rm -r "$wheels"
    if [ ! -f "$1/sglang/__init__.py" ]; then
        say "the wheel of sglang $version has no sglang/__init__.py"
        exit 1
    fi
}

tree() {
    local place="$cache/sglang-trees/sglang-$version"
    check_python
    mkdir -p "$cache/sglang-trees"
    [ -d "$place" ] || make_whole "$place" fill_tree
    echo "$place"
}

case "$#:${1-}" in
0:)
    environment
    ;;
2:--tree)
    version="$2"
    if ! [[ "$version" =~ ^[0-9]+(\.[0-9]+)*((a|b|rc|\.post|\.dev)[0-9]+)*$ ]]; then
        say "'$version' is no version, want one such as 0.5.21"
        exit 2
    fi
    tree
    ;;
*)
    say "usage: scripts/sglang_env.sh [--tree VERSION]"
    exit 2
    ;;
esac
