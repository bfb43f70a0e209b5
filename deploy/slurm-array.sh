#!/bin/bash
#SBATCH --job-name=fanoutbench
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=fanoutbench-%A_%a.log
#
# One shard of a campaign on a node of its own. With as many tasks as the campaign has shards:
#
#   fanoutbench plan --shards 4 --output campaign.json [flags of run]
#   sbatch --array=0-3 --export=ALL,CAMPAIGN=$PWD/campaign.json,RUNS=$PWD/runs slurm-array.sh
#   fanoutbench merge runs/shard-? --output merged
#
# CAMPAIGN and RUNS are on a file system that all nodes share; FANOUTBENCH is the program, by default
# the one in PATH. A run is made under the name of its attempt and gets that of its shard when it is
# complete, so that what has the name of a shard is whole, and what a killed attempt left is kept.
#
# Only a program that was killed is run again, twice at most, from its beginning and before anybody
# has seen a figure of it. A run that ended invalid is a finding and stays one.
set -u

program="${FANOUTBENCH:-fanoutbench}"
shard="$RUNS/shard-$SLURM_ARRAY_TASK_ID"
restarts="${SLURM_RESTART_COUNT:-0}"
attempt="$RUNS/attempt-$SLURM_ARRAY_TASK_ID-$restarts"

if [ -e "$shard" ]; then
    echo "$shard is there already; nothing to do"
    exit 0
fi
mkdir -p "$RUNS"
status=0
"$program" run --campaign "$CAMPAIGN" --output "$attempt" || status=$?
if [ "$status" -eq 0 ]; then
    mv -T "$attempt" "$shard"
    exit
fi
echo "shard $SLURM_ARRAY_TASK_ID, attempt $restarts on ${SLURMD_NODENAME:-?}: exit status $status"
if [ "$status" -gt 128 ] && [ "$restarts" -lt 2 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit "$status"
