/* SPDX-License-Identifier: Apache-2.0 */
/* What rules of several topics ask of the evidence, and what their tables are made of. Pure. */
#ifndef DOCTOR_RULE_H
#define DOCTOR_RULE_H

#include "measure/doctor/doctor.h"
#include "look/settings/predicates.h"

void verdict_set(const struct rule_facts *e, struct judged *out, enum likelihood how,
		 const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* UNSEEN, or NOT_HERE for what is absent. True when the fact was not seen. */
bool verdict_set_unseen(const struct rule_facts *e, struct judged *out, const struct fact *f,
			const char *what);
/* The worst finding of a setting: FAIL, then UNKNOWN, PASS, NA. NULL: it was not judged. */
const struct finding *finding_of(const struct rule_facts *e, const char *setting);
/* Judged by a setting alone. */
void rule_by_setting(const struct rule_facts *e, const char *setting, enum likelihood weight,
		     struct judged *out);
/* By failures with this reason code (NULL: with any); other failures are NOT_HERE. */
void rule_by_code(const struct rule_facts *e, const char *setting, const char *code,
		  enum likelihood weight, struct judged *out);
/* By what the setting says of such PCI functions: LIKELY where it fails; without one NOT_HERE, for
 * the reason none, or UNSEEN where that is NULL. */
typedef bool function_test(const struct machine *m, const char *pci);
void rule_on_functions(const struct rule_facts *e, const char *setting, function_test *is_part,
		       const char *none, struct judged *out);

/* By known defects of that component (NULL: of any) that are here. */
void rule_by_defects(const struct rule_facts *e, const char *component, struct judged *out);

/* A case of a bench whose name begins so, from number *at on; NULL: none. Increments *at. */
const struct record_case *next_case(const struct rule_facts *e, const char *bench, const char *name,
				    size_t *at);
/* The one case of that very name with samples; NULL. */
const struct record_case *case_of(const struct rule_facts *e, const char *bench, const char *name);
/* The median of a figure; false without one. */
bool figure_of(const struct record_case *c, const char *key, double *out);
/* UNSEEN and why, for a test that did not run or failed; false when it ran. */
bool test_missing(const struct rule_facts *e, enum doctor_test_id t, struct judged *out);
/* By the band of each case: LIKELY below it, EXCLUDED within, UNSEEN without a band. */
void rule_by_band(const struct rule_facts *e, enum doctor_test_id t, struct judged *out);

/* A variable of a program; NULL: nobody has it. */
const struct observed_var *var_of(const struct rule_facts *e, const char *name);
/* The named one, or the first that begins so ("NCCL_"). */
const char *var_text(const struct rule_facts *e, const struct observed_var *v);
/* How many names NCCL_IB_HCA's list holds, and how many of them name some device of this machine.
 */
void list_count(const struct rule_facts *e, const char *list, size_t *names, size_t *known);
bool is_spark(const struct rule_facts *e);
/* The links of network adapters, by pcie.link; what they counted, by pcie.errors. */
void doctor_nic_link(const struct rule_facts *e, struct judged *out);
/* Growth of a counter between the two looks, per second; false when one was not seen. */
bool grows(const struct rule_facts *e, const struct fact_int *before, const struct fact_int *now,
	   double *per_s);

/* --- tables of diagnoses, one a topic --------------------------------------------------------- */
extern const struct diagnosis_table diagnoses_gpu, diagnoses_gpu_work, diagnoses_memory,
	diagnoses_memory_pages, diagnoses_cpu, diagnoses_system, diagnoses_nic, diagnoses_net,
	diagnoses_rdma, diagnoses_nccl, diagnoses_disk, diagnoses_container, diagnoses_leads;

#endif
