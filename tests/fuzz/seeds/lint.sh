#!/bin/bash
#SBATCH --export=NCCL_IB_DISABLE=1
# SPDX-License-Identifier: Apache-2.0
export NCCL_IB_HCA==mlx5_1:1 NCCL_ALGO="Ring"
NCCL_X: 1
docker run -e NCCL_NET='Socket' image \
  vllm serve model --gpu-memory-utilization 0.9 --tp 2
a slots=1
#SBATCH -N 2
export PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True, roundup_power2_divisions:[256:1,>:8]" CUDA_VISIBLE_DEVICES=0,1,GPU-8932
export CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8 TORCH_NCCL_BLOCKING_WAIT=1 NCCL_ASYNC_ERROR_HANDLING=0 PYTORCH_NO_CUDA_MEMORY_CACHING=0
