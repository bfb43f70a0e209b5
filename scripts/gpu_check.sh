#!/usr/bin/env bash
# Checks the CUDA part on a machine with a GPU that has neither Go nor a network.
#
#   scripts/gpu_check.sh --pack DIR          where Go is: builds what is carried, with this script, into the new folder DIR
#   DIR/gpu_check.sh [OUT]                   on the machine with the GPU: checks, and writes one JSON object to OUT or standard output
#
# It shows: that the driver is found, which functions it lacks that the program is linked with, that the PTX loads, each
# kernel against its twin in float64, the model against package cpu, transformers' logits and each request alone, the device's choices
# against the host's, the times of prefill and decode steps of a model of Qwen3-0.6B's shape with random weights, as shares
# of FANOUTBENCH_GPU_BANDWIDTH (4.8e12 bytes/s, an H200's) and FANOUTBENCH_GPU_FLOPS (989.4e12), and a round of checked streams
# through a server. Each part has a time limit, together under eight minutes; one that fails does not keep the others from running,
# and the exit status is 1 then.
#
# FANOUTBENCH_LIBCUDA names another libcuda.so.1: the fake driver's, to try the script without a GPU, with FANOUTBENCH_GPU_MODEL=small, which
# also makes the streams short. On a machine that does other things meanwhile a part may run into its limit.
set -euo pipefail

pack() {
    local dir="$1"
    cd "$(dirname "$0")/.."
    if [ -e "$dir" ]; then
        echo "scripts/gpu_check.sh: $dir exists; want a name that is free" >&2
        exit 2
    fi
    local environment
    environment="$(scripts/cuda_env.sh)"
    eval "$environment"
    mkdir -p "$dir/model/cuda/kernels" "$dir/model/checkpoint"
    go test -c -trimpath -tags cuda -o "$dir/kernels.test" ./runtime/model/cuda/kernels
    go test -c -trimpath -tags cuda -o "$dir/cuda.test" ./runtime/model/cuda
    go build -trimpath -tags cuda -o "$dir/fanoutserve" ./cmd/fanoutserve
    CGO_ENABLED=0 go build -trimpath -o "$dir/streamload" ./cmd/internal/streamload
    cp runtime/model/cuda/kernels/*.cu runtime/model/cuda/kernels/*.cuh runtime/model/cuda/kernels/doc.go "$dir/model/cuda/kernels/" # tests read them
    cp -r runtime/model/checkpoint/testdata "$dir/model/checkpoint/testdata"
    cp scripts/gpu_check.sh "$dir/gpu_check.sh"
    git rev-parse HEAD >"$dir/commit"
}

# part NAME SECONDS COMMAND...: runs it; results gets how it ended, the log what it said.
part() {
    local name="$1" limit="$2" status=0 begin="$SECONDS"
    shift 2
    echo "== $name" >>"$work/log"
    timeout "$limit" "$@" >"$work/said" 2>&1 || status=$?
    cat "$work/said" >>"$work/log"
    results+=("$(printf '"%s":{"exit":%d,"seconds":%d,"passed":%d,"failed":%d}' "$name" "$status" "$((SECONDS - begin))" \
        "$(grep -cE '^--- PASS' "$work/said" || true)" "$(grep -cE '^--- FAIL' "$work/said" || true)")")
    if [ "$status" -ne 0 ]; then
        failed=1
        if [ "$status" -eq 124 ]; then
            echo "gpu_check.sh: $name was ended after $limit seconds, its limit; what it had said:" >&2
        else
            echo "gpu_check.sh: $name failed:" >&2
        fi
        tail -n 40 "$work/said" >&2
    fi
}

check() {
    local dir out="${1:-/dev/stdout}" results=() failed=0
    dir="$(cd "$(dirname "$0")" && pwd)"
    work="$(mktemp -d)"
    trap 'rm -rf "$work"' EXIT
    export FANOUTBENCH_LIBCUDA="${FANOUTBENCH_LIBCUDA:-libcuda.so.1}" FANOUTBENCH_GPU_REPORT="$work/speed"
    export FANOUTBENCH_FAKECUDA="$FANOUTBENCH_LIBCUDA" FANOUTBENCH_GPU_MODEL="${FANOUTBENCH_GPU_MODEL:-qwen3-0.6b}"
    local tokens=128
    if [ "$FANOUTBENCH_GPU_MODEL" = small ]; then tokens=8; fi
    cd "$dir/model/cuda/kernels" # as the tests' own folders lie
    # Tests that inject failures into the fake driver, or build a changed one, mean nothing on a device.
    local fake='Mutants|TooLittleMemory|DevicesThatCannotBe|FailuresInAStep|LostDevice'
    part kernels 150 "$dir/kernels.test" -test.v -test.skip "$fake"
    cd ..
    part model 120 "$dir/cuda.test" -test.v -test.skip "$fake|TestSpeed"
    part speed 120 "$dir/cuda.test" -test.v -test.run '^TestSpeed$'
    part serving 60 "$dir/streamload" -streams 32 -tokens "$tokens" -rounds 2 -- "$dir/fanoutserve" --device cuda --incremental-streaming-output --enable-metrics
    {
        printf '{"commit":"%s","kernel":"%s","parts":{%s},"serving":' "$(cat "$dir/commit")" "$(uname -sr)" "$(
            IFS=,
            echo "${results[*]}"
        )"
        sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' "$work/said" | awk 'BEGIN { printf "[" } { gsub(/[\001-\037]/, " "); printf "%s\"%s\"", sep, $0; sep = "," } END { printf "]" }'
        printf ',"speed":'
        if [ -s "$work/speed" ]; then cat "$work/speed"; else printf null; fi
        printf '}\n'
    } >"$out"
    return "$failed"
}

case "${1-}" in
--pack)
    if [ "$#" -ne 2 ]; then
        echo "usage: scripts/gpu_check.sh --pack DIR" >&2
        exit 2
    fi
    pack "$2"
    ;;
-*)
    echo "usage: scripts/gpu_check.sh --pack DIR, or DIR/gpu_check.sh [OUT]" >&2
    exit 2
    ;;
*)
    if [ ! -e "$(dirname "$0")/cuda.test" ]; then
        echo "gpu_check.sh: no cuda.test beside it; want a folder that scripts/gpu_check.sh --pack made" >&2
        exit 2
    fi
    check "${1-}"
    ;;
esac
