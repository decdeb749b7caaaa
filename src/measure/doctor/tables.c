/* SPDX-License-Identifier: Apache-2.0 */
/* The tables in the order in which a person would look: the GPU first, the cluster last. */
#include "measure/doctor/rule.h"

const struct diagnosis_table *const diagnosis_tables[] = {
	&diagnoses_gpu, &diagnoses_gpu_work, &diagnoses_memory, &diagnoses_memory_pages,
	&diagnoses_cpu, &diagnoses_disk,     &diagnoses_system, &diagnoses_nic,
	&diagnoses_net, &diagnoses_rdma,     &diagnoses_nccl,
};
const size_t diagnosis_table_count = sizeof(diagnosis_tables) / sizeof(diagnosis_tables[0]);
