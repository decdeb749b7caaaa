s#!/bin/sh
export NCCL_ALGO=Ring
torchrun x.py --per_device_train_batch_size 1 \
  --gradient_accumulation_steps=8 --fsdp "full_shard"
