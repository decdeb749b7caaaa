/* SPDX-License-Identifier: Apache-2.0 */
/* Containers and the GPU: what the host has for them. */
#include "measure/doctor/rule.h"

static void no_runtime(const struct rule_facts *e, struct judged *out)
{
	const struct fact_str *r = &e->m->software.container_runtime;

	if (r->f.seen == SEEN_ABSENT)
		verdict_set(e, out, CAUSE_LIKELY, "no NVIDIA container runtime is installed here");
	else if (!verdict_set_unseen(e, out, &r->f, "the NVIDIA container runtime"))
		verdict_set(e, out, CAUSE_EXCLUDED, "%s is installed", r->v);
}

#include "measure/doctor_container_rows.h"
