/* SPDX-License-Identifier: Apache-2.0 */
/* All diagnoses, what leads to other verbs, and the words that descriptions are read with. */
#include "measure/doctor/rule.h"

/* The tables in the order in which a person would look: the GPU first, the cluster last. */

const struct diagnosis_table *const diagnosis_tables[] = {
	&diagnoses_gpu,	  &diagnoses_gpu_work, &diagnoses_memory, &diagnoses_memory_pages,
	&diagnoses_cpu,	  &diagnoses_disk,     &diagnoses_system, &diagnoses_container,
	&diagnoses_nic,	  &diagnoses_net,      &diagnoses_rdma,	  &diagnoses_nccl,
	&diagnoses_leads,
};
const size_t diagnosis_table_count = sizeof(diagnosis_tables) / sizeof(diagnosis_tables[0]);

#include "measure/doctor_leads_rows.h"
#include "measure/doctor_pulls_rows.h"
#include "measure/doctor_terms_rows.h"
