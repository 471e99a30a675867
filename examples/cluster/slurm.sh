#!/bin/sh
# Measures in parts on Slurm and merges them: examples/cluster/slurm.sh PARTS RESULT COMMAND...
#   examples/cluster/slurm.sh 16 result.json eval model.int8.onnx --reference model.onnx --samples 5000
#   examples/cluster/slurm.sh 16 zoo.html zoo zoo.json
# An array job measures part N of PARTS in each task, and a job that waits for all of them merges. A task
# that was preempted or killed is started again by Slurm (--requeue) and goes on from its checkpoint.
set -eu
if [ $# -lt 3 ]; then
  echo "usage: $0 PARTS RESULT COMMAND..." >&2
  exit 2
fi
parts=$1 result=$2 command=$3
shift 2
vernier=${VERNIER:-vernier}
folder=$result.parts
mkdir -p "$folder"
# The command as words of the scripts that sbatch takes.
words=
for word in "$@"; do
  words="$words '$(printf %s "$word" | sed "s/'/'\\\\''/g")'"
done
# shellcheck disable=SC2016  # the variables are the task's
if [ "$command" = zoo ]; then # rows of a zoo meet in its cache
  options='--jobs "$SLURM_CPUS_PER_TASK"'
  merge="$words --collect"
else
  options="--threads \"\$SLURM_CPUS_PER_TASK\" --checkpoint '$folder/checkpoint' \
    -o '$folder'/\"\$SLURM_ARRAY_TASK_ID.vpart\""
  merge="merge '$folder'/*.vpart"
fi
array=$(sbatch --parsable --requeue --array="1-$parts" --cpus-per-task="${CPUS:-1}" \
  --output="$folder/%a.log" <<SCRIPT
#!/bin/sh
exec '$vernier' $words --shard "\$SLURM_ARRAY_TASK_ID/$parts" $options
SCRIPT
)
sbatch --parsable --dependency="afterok:$array" --kill-on-invalid-dep=yes \
  --output="$folder/merge.log" <<SCRIPT
#!/bin/sh
exec '$vernier' $merge -o '$result'
SCRIPT
