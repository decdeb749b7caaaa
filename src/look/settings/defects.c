/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a defect is known of the driver, the kernel or the firmware that the machine has. Of
 * software "gputune defects check" speaks: to look for it takes longer than a check may. */
#include "look/defects/rows.h"
#include "look/defects/world.h"
#include "look/settings/settings.h"

static void known_defects(const struct rule_ctx *q, struct verdict *v)
{
	struct defect_matches found;
	const char *ids = "", *first = NULL;

	defects_of_facts(q->a, q->m, &found);
	for (size_t i = 0; i < found.n; i++) {
		const json_t *row = found.items[i].row;

		if (found.items[i].state != DEFECT_HERE)
			continue;
		first = first ? first : defect_text(row, "title");
		ids = arena_printf(q->a, "%s%s%s", ids, *ids ? ", " : "", defect_text(row, "id"));
	}
	v->current = *ids ? ids : "none";
	if (first)
		verdict_fail(v, "none", first);
	else if (found.count[DEFECT_MITIGATED])
		verdict_pass(v, "a setting or fix covers every known defect on the machine");
	else if (found.count[DEFECT_POSSIBLE])
		verdict_unknown(v, CODE_ERROR,
				arena_printf(q->a, "%s unreadable", found.items[0].unseen));
	else if (!seen_ok(&q->m->gpu.driver.f))
		verdict_unseen(q, v, &q->m->gpu.driver.f, "there is no NVIDIA driver");
	else
		verdict_pass(v, "none that stops or slows work; defects check also judges logs and "
				"software");
}

#include "look/settings_defects_rows.h"
