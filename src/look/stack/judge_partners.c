/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: versions that several machines or several libraries of one process have to agree on. */
#include <stdlib.h>
#include <string.h>

#include "look/stack/judge_inside.h"

/* NVIDIA's playbooks for several DGX Sparks start with 2.28.3. */
static const char nccl_spark[] = "2.28.3";

static void nccl_version(struct judge *j, const struct stack_item *item)
{
	const char *version = item->said ? item->said : item->version;
	const struct stack_place *p = &j->inv->places[item->place];
	struct stack_finding *f;
	bool good;

	if (!judge_spark(j)) {
		f = judge_add(j, "stack.nccl-version", "NCCL for several machines",
			      judge_target(j, item), VERDICT_NA);
		f->current = version;
		f->reason = "only DGX Spark needs a newer NCCL than it was shipped with";
		f->from = item->path;
		return;
	}
	good = version && version_compare(version, nccl_spark) >= 0;
	f = judge_add(j, "stack.nccl-version", "NCCL for several machines", judge_target(j, item),
		      !version ? VERDICT_UNKNOWN
		      : good   ? VERDICT_PASS
			       : VERDICT_FAIL);
	f->current = version;
	f->wanted = "2.28.3 or newer";
	f->serious = true;
	f->from = item->path;
	f->source = "NVIDIA's playbooks for connected DGX Sparks";
	f->reason = !version ? "its version could not be seen; --deep loads it and asks"
		    : good   ? "new enough for several DGX Sparks"
			     : "collectives between DGX Sparks need 2.28.3";
	if (!good)
		f->command = judge_command(j, COMPONENT_NCCL, p, nccl_spark);
}

/* What the file is called and what it is when it is loaded. */
static void loaded(struct judge *j, const struct stack_item *item)
{
	struct stack_finding *f;
	bool same;

	if (!item->said && !item->said_error)
		return;
	same = item->said && item->version && version_compare(item->said, item->version) == 0;
	/* A package counts on after what its library says: 13.1.0 of 13.1.0.3. */
	if (item->said && item->version && !same)
		same = strncmp(item->said, item->version, strlen(item->said)) == 0;
	f = judge_add(j, "stack.loaded-version", "Loaded and asked", judge_target(j, item),
		      !item->said	       ? VERDICT_UNKNOWN
		      : same || !item->version ? VERDICT_PASS
					       : VERDICT_FAIL);
	f->current = item->said;
	f->wanted = item->version;
	f->from = item->path;
	f->reason = !item->said	    ? item->said_error
		    : same	    ? "it is what it is called"
		    : item->version ? "the library that is loaded is another one than its name or "
				      "package says"
				    : "it says so itself";
}

/* Two of one name with two versions: which one a process gets depends on who loads first. */
static bool rivals(const struct inventory *v, const struct stack_item *a,
		   const struct stack_item *b)
{
	return a->c == b->c && a->soname && b->soname && strcmp(a->soname, b->soname) == 0 &&
	       a->version && b->version && version_compare(a->version, b->version) != 0 &&
	       v->places[a->place].kind == PLACE_PYTHON && v->places[b->place].kind == PLACE_SYSTEM;
}

static void one_version(struct judge *j, const struct stack_item *item)
{
	const struct stack_item *other = NULL;
	struct stack_finding *f;

	if (j->inv->places[item->place].kind != PLACE_PYTHON || !item->soname)
		return;
	for (size_t i = 0; i < j->inv->n_items && !other; i++)
		if (rivals(j->inv, item, &j->inv->items[i]))
			other = &j->inv->items[i];
	f = judge_add(j, "stack.one-version", "One version in a process", judge_target(j, item),
		      other ? VERDICT_FAIL : VERDICT_PASS);
	f->current = item->version;
	f->from = item->path;
	if (!other) {
		f->reason = "the loader knows no other version of it";
		return;
	}
	f->wanted = other->version;
	f->reason =
		arena_printf(j->a,
			     "the system has %s %s (%s): what is loaded first, or LD_LIBRARY_PATH, "
			     "decides which one a process gets",
			     components[item->c].name, other->version, other->path);
	/* The older of the two is to be renewed. */
	if (version_compare(item->version, other->version) > 0)
		f->command = judge_command(j, item->c, &j->inv->places[other->place], NULL);
	else
		f->command =
			judge_command(j, item->c, &j->inv->places[item->place], other->version);
}

void judge_partners(struct judge *j)
{
	for (size_t i = 0; i < j->inv->n_items; i++) {
		const struct stack_item *item = &j->inv->items[i];

		if (item->c == COMPONENT_NCCL)
			nccl_version(j, item);
		loaded(j, item);
		one_version(j, item);
	}
}
