/* SPDX-License-Identifier: Apache-2.0 */
/* Every table of diagnoses, one a topic, and what several of them say. */
#ifndef DOCTOR_TABLES_H
#define DOCTOR_TABLES_H

#include "measure/doctor/doctor.h"

extern const struct diagnosis_table diagnoses_gpu, diagnoses_gpu_work, diagnoses_memory,
	diagnoses_memory_pages, diagnoses_cpu, diagnoses_system, diagnoses_nic, diagnoses_net,
	diagnoses_rdma, diagnoses_nccl, diagnoses_disk;

#define DIAGNOSIS_TABLE(list)                                                                      \
	{                                                                                          \
		(list), sizeof(list) / sizeof((list)[0])                                           \
	}
/* A cause that a setting judges, with or without a setting that mends it. */
#define BY_SETTING(id_, weight_) .setting = (id_), .weight = CAUSE_##weight_
#define ANYWHERE(text)                                                                             \
	{                                                                                          \
		{                                                                                  \
			ON_ALL, (text)                                                             \
		}                                                                                  \
	}
#define SPARK_OR(spark, other)                                                                     \
	{                                                                                          \
		{ ON_SPARK, (spark) },                                                             \
		{                                                                                  \
			ON_ALL, (other)                                                            \
		}                                                                                  \
	}

#endif
