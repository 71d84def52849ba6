#!/bin/sh
# The runs of a lab's sweep as an array job of Slurm, in 32 parts:
#   sbatch configs/scale/slurm.sh LAB.yaml FOLDER
# A part that is started again goes on where it ended. Then the table of all of them:
#   cat FOLDER/*.jsonl > all.jsonl; sluice run LAB.yaml --rows all.jsonl --resume
# Exit status of a part: 0 PASS, 1 FAIL (also of a single run), 2 bad input, 4 inconclusive.
#SBATCH --array=1-32 --cpus-per-task=4 --time=01:00:00
lab=$1 folder=$2
mkdir -p "$folder" || exit 3
exec sluice run "$lab" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
    --jobs "${SLURM_CPUS_PER_TASK:-1}" \
    --rows "$folder/$SLURM_ARRAY_TASK_ID.jsonl" --resume --keep "$folder/failed"
