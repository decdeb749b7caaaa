#!/bin/bash
#SBATCH --export=NCCL_IB_DISABLE=1
# SPDX-License-Identifier: Apache-2.0
export NCCL_IB_HCA==mlx5_1:1 NCCL_ALGO="Ring"
NCCL_X: 1
docker run -e NCCL_NET='Socket' image \
  vllm serve model --gpu-memory-utilization 0.9 --tp 2
a slots=1
