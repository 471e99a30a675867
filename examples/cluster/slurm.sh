#!/bin/sh
# Measures in parts on Slurm and merges them: examples/cluster/slurm.sh PARTS RESULT COMMAND...
#   examples/cluster/slurm.sh 16 result.json eval model.int8.onnx --reference model.onnx --samples 5000
# An array job measures part N of PARTS in each task, and a job that waits for all of them merges. A task
# that was preempted or killed is started again by Slurm (--requeue) and goes on from its checkpoint.
set -eu
parts=$1 result=$2
shift 2
folder=$result.parts
mkdir -p "$folder"
# The command as words of the script that sbatch takes.
words=
for word in "$@"; do
  words="$words '$(printf %s "$word" | sed "s/'/'\\\\''/g")'"
done
array=$(sbatch --parsable --requeue --array="1-$parts" --cpus-per-task="${CPUS:-1}" \
  --output="$folder/%a.log" <<SCRIPT
#!/bin/sh
exec '${VERNIER:-vernier}' $words --threads "\$SLURM_CPUS_PER_TASK" \
  --shard "\$SLURM_ARRAY_TASK_ID/$parts" --checkpoint '$folder/checkpoint' \
  -o '$folder'/"\$SLURM_ARRAY_TASK_ID.vpart"
SCRIPT
)
sbatch --parsable --dependency="afterok:$array" --kill-on-invalid-dep=yes \
  --output="$folder/merge.log" <<SCRIPT
#!/bin/sh
exec '${VERNIER:-vernier}' merge '$folder'/*.vpart -o '$result'
SCRIPT
