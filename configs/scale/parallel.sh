#!/bin/sh
# A swarm on several machines by GNU parallel over ssh, which have one folder:
#   configs/scale/parallel.sh lab1,lab2,: 100000 /shared/swarm
# `:` is this machine. Each of 64 parts takes all cores of its machine, and is run again elsewhere if
# its machine goes away. At the end their rows are joined: the summary and the hash of one machine.
hosts=$1 count=$2 folder=$3 parts=${4:-64}
mkdir -p "$folder" || exit 3
# A verdict, even FAIL, is a result: only what could not run is run again.
seq "$parts" | parallel --sshlogin "$hosts" --jobs 1 --retries 3 \
    "rm -f $folder/{}.jsonl; sluice swarm --count $count --shard {}/$parts" \
    "--rows $folder/{}.jsonl > $folder/{}.txt; test \$? -ne 3" || exit
exec sluice swarm --join "$folder"/*.jsonl
