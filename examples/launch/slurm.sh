#!/usr/bin/env bash
# A parameter server and two workers as one Slurm job: sbatch slurm.sh
# Every task learns from Slurm's environment which one it is and where the others are (SlurmClusterResolver).
#SBATCH --job-name=thalweg
#SBATCH --ntasks=3
#SBATCH --time=00:10:00
set -euo pipefail
# sbatch runs a copy of this file: TRAIN says where the program lies, by default in the folder of submission.
srun "${PYTHON:-python3}" "${TRAIN:-$SLURM_SUBMIT_DIR/train.py}" --slurm ps=1,worker=2 --port "${PORT:-8888}"
