/* SPDX-License-Identifier: Apache-2.0 */
/* The power mode of a Jetson or IGX machine, which nvpmodel sets. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "look/probe/probe.h"

#define NVPMODEL_CONF "/etc/nvpmodel.conf"

/* The modes of nvpmodel's file, "< POWER_MODEL ID=0 NAME=MAXN >": the name of the present one, and
 * the number of the one without ceilings. Its number differs: 0 on an IGX Orin, 2 on an Orin Nano,
 * where 0 is the 15 W mode. */
static void power_modes(struct probe *p, char *text)
{
	struct cpus *c = &p->m->cpu;
	bool is_super = false;

	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char name[64] = "", number[4] = "";
		long long id;

		if (sscanf(line, " < POWER_MODEL ID=%3[0-9] NAME=%63s", number, name) != 2 ||
		    parse_i64(number, &id))
			continue;
		if (seen_ok(&c->power_mode.f) && c->power_mode.v == id)
			c->power_mode_name =
				fact_str_of(arena_strdup(p->a, name), "", NVPMODEL_CONF);
		if (!str_starts(name, "MAXN") || is_super)
			continue;
		is_super = str_starts(name, "MAXN_SUPER");
		c->power_mode_most = fact_int_of(id, "", NVPMODEL_CONF);
	}
}

/* No machine without the file has the program. */
void probe_power(struct probe *p)
{
	struct cpus *c = &p->m->cpu;
	struct fact absent = fact_unseen(-ENOENT, "", NVPMODEL_CONF);
	char *text;
	int r = host_read(p->h, NVPMODEL_CONF, 1 << 18, p->a, &text, NULL);

	if (r) {
		c->power_mode.f = c->power_mode_name.f = c->power_mode_most.f =
			r == HOST_NOT_CAPTURED ? absent : fact_unseen(r, "", NVPMODEL_CONF);
		return;
	}
	c->power_mode_name.f = c->power_mode_most.f = absent;
	c->power_mode = probe_ask_int(p, "nvpmodel", "", "mode");
	power_modes(p, text);
}
