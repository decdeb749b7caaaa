/* SPDX-License-Identifier: Apache-2.0 */
/* What facts say of the machine, as rows ask for it; and the rows that they decide alone. */
#include <string.h>

#include "look/defects/rows.h"
#include "look/defects/world.h"
#include "look/settings/predicates.h"

/* False: there is none. */
static json_t *known(const struct fact_str *f)
{
	if (f->f.seen == SEEN_ABSENT)
		return json_false();
	return seen_ok(&f->f) && f->v ? json_string(f->v) : json_null();
}

static json_t *platform_part(const struct machine *m)
{
	json_t *list;

	if (!seen_ok(&m->platform.kind.f))
		return json_null();
	list = json_pack("[s]", m->platform.kind.v);
	if (platform_bits(m) & ON_GRACE)
		json_array_append_new(list, json_string("grace"));
	if (platform_bits(m) & ON_HOST)
		json_array_append_new(list, json_string("host"));
	return list;
}

static void gpus_part(json_t *j, const struct machine *m)
{
	json_auto_t *code = json_array(), *names = json_array(), *none = json_null();
	const struct gpu *g;
	bool all = true;
	size_t n = 0;

	for (; (g = machine_gpu(m, n)); n++) {
		char sm[24];

		if (seen_ok(&g->cc_major.f) && seen_ok(&g->cc_minor.f)) {
			snprintf(sm, sizeof(sm), "sm_%lld%lld", g->cc_major.v, g->cc_minor.v);
			json_array_append_new(code, json_string(sm));
		} else if (fact_is(&m->platform.kind, "dgx-spark")) {
			json_array_append_new(code, json_string("sm_121"));
		} else {
			all = false;
		}
		if (seen_ok(&g->name.f))
			json_array_append_new(names, json_string(g->name.v));
	}
	if (!n && fact_is(&m->platform.kind, "dgx-spark"))
		json_array_append_new(code, json_string("sm_121"));
	else if (!n && machine_bus_gpus(m, false))
		all = false;
	json_object_set(j, "gpus", all ? code : none);
	json_object_set(j, "gpu_names", n || all ? names : none);
}

/* Several of one name stand in a list. */
void version_add(json_t *all, const char *name, const char *version)
{
	json_t *v = json_object_get(all, name), *one;
	size_t i;

	if (!v) {
		v = json_array();
		json_object_set_new(all, name, v);
	}
	json_array_foreach(v, i, one) if (strcmp(json_string_value(one), version) == 0) return;
	json_array_append_new(v, json_string(version));
}

/* "ConnectX-7" of "MT2910 Family [ConnectX-7]" */
static const char *nic_name(struct arena *a, const struct machine *m, const char *pci)
{
	const struct pci_function *f = machine_pci(m, pci);
	const char *name = f ? fact_text(&f->device_name, "") : "", *at = strstr(name, "ConnectX-"),
		   *bf = strstr(name, "BlueField-");

	at = at ? at : bf;
	return at ? arena_strndup(a, at, strcspn(at, "] ")) : NULL;
}

static json_t *firmware_part(struct arena *a, const struct machine *m)
{
	json_t *all = json_object();

	if (seen_ok(&m->platform.bios_version.f))
		version_add(all, "bios", m->platform.bios_version.v);
	for (size_t i = 0; machine_gpu(m, i); i++)
		if (seen_ok(&machine_gpu(m, i)->vbios.f))
			version_add(all, "vbios", machine_gpu(m, i)->vbios.v);
	LIST_FOR_EACH (const struct nic, n, &m->net.nics) {
		const char *name = nic_name(a, m, n->pci);

		/* "28.45.4028 (NVD0000000087)" */
		if (name && seen_ok(&n->firmware.f))
			version_add(all, arena_printf(a, "nic:%s", name),
				    arena_strndup(a, n->firmware.v, strcspn(n->firmware.v, " ")));
	}
	LIST_FOR_EACH (const struct disk, d, &m->storage.disks)
		if (seen_ok(&d->model.f) && seen_ok(&d->firmware.f))
			version_add(all, arena_printf(a, "nvme:%s", d->model.v), d->firmware.v);
	return all;
}

json_t *machine_facts_part(struct arena *a, const struct machine *m)
{
	json_t *j = json_object();

	json_object_set_new(j, "platform", platform_part(m));
	json_object_set_new(j, "product", known(&m->platform.product));
	gpus_part(j, m);
	json_object_set_new(j, "cpu", known(&m->kernel.arch));
	json_object_set_new(j, "driver", known(&m->gpu.driver));
	json_object_set_new(j, "modules", known(&m->gpu.driver_flavour));
	json_object_set_new(j, "kernel", known(&m->kernel.release));
	json_object_set_new(j, "cmdline", known(&m->kernel.cmdline));
	json_object_set_new(j, "firmware", firmware_part(a, m));
	return j;
}

void defects_of_facts(struct arena *a, const struct machine *m, struct defect_matches *out)
{
	const struct defect_rows *rows = defect_rows_of_facts();
	struct defect_place place = { .name = "host", .prefix = "", .holds = json_object() };
	struct defect_world w = {
		.a = a, .machine = machine_facts_part(a, m), .places = &place, .n_places = 1
	};

	defects_match(&w, rows->rows, rows->n, out);
	json_decref(place.holds);
	json_decref(w.machine);
}

void defects_of_words(struct arena *a, const struct defect_rows *rows, const struct machine *m,
		      const struct defect_words *words, struct defect_matches *out)
{
	static const char *const keys[] = { "\"env\":", "\"process\":", NULL };
	struct defect_place place = { .name = "host", .prefix = "", .holds = json_object() };
	struct defect_world w = { .a = a,
				  .machine = m ? machine_facts_part(a, m) : json_object(),
				  .places = &place,
				  .n_places = 1 };
	struct defect_matches without;

	*out = (struct defect_matches){ 0 };
	json_object_set_new(place.holds, "pip", json_null());
	json_object_set_new(place.holds, "packages", json_null());
	json_object_set_new(place.holds, "libraries",
			    words->nccl ? json_pack("[{s:s, s:s}]", "path", "libnccl.so.2",
						    "version", words->nccl)
					: json_null());
	for (size_t i = 0; i < rows->n; i++) {
		json_auto_t *row = defect_row_part(rows->rows[i], "when mitigated_by", keys);
		struct defect_matches with;

		if (!row)
			continue;
		json_object_del(place.holds, "env");
		json_object_del(place.holds, "processes");
		defects_match(&w, rows->rows + i, 1, &without);
		json_object_set(place.holds, "env", words->env);
		json_object_set(place.holds, "processes", words->processes);
		defects_match(&w, rows->rows + i, 1, &with);
		if (!with.n || with.items[0].state > DEFECT_EXPOSED ||
		    (without.n && without.items[0].state <= DEFECT_EXPOSED))
			continue;
		ARENA_ADD(a, out->items, out->n) = with.items[0];
	}
	json_decref(place.holds);
	json_decref(w.machine);
}
