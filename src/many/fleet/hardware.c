/* SPDX-License-Identifier: Apache-2.0 */
/* What makes two machines' figures comparable: the same processors, GPUs, memory and adapters.
 * Driver, kernel and firmware do not part them, because a fleet is looked at to find what those do:
 * where a machine lies far from its peers, it is said in which of them it is unlike most. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "many/fleet/fleet.h"

enum { GPUS_MAX = 64, PART_MAX = 200 };

static const struct {
	const char *key, *name;
} software[FLEET_SOFTWARE] = {
	{ "gpu_driver", "driver" },
	{ "kernel", "kernel" },
	{ "firmware", "firmware" },
	{ "gpu0_vbios", "VBIOS" },
};

static const char *get(const json_t *print, const char *key)
{
	const char *s = json_string_value(json_object_get(print, key));

	return s && strlen(s) <= PART_MAX ? s : NULL;
}

/* GPUs of the first one's kind are counted. */
static void hardware_gpus(struct text *t, const json_t *print)
{
	const char *first = get(print, "gpu0");
	size_t same = 0, other = 0;

	for (int i = 0; i < GPUS_MAX; i++) {
		char key[16];
		const char *name;

		snprintf(key, sizeof(key), "gpu%d", i);
		name = get(print, key);
		if (!name)
			break;
		same += strcmp(name, first) == 0;
		other += strcmp(name, first) != 0;
	}
	if (same)
		text_printf(t, "%zu x %s, ", same, first);
	if (other)
		text_printf(t, "%zu other GPUs, ", other);
}

/*
 * What the kernel has of the memory, up to the next quarter between powers of two: modules are of
 * such sizes, and what firmware and kernel keep for themselves differs from boot to boot.
 */
static unsigned long long installed_gib(unsigned long long kib)
{
	unsigned long long gib = (kib + (1 << 20) - 1) >> 20, step = 1;

	while (step * 8 <= gib)
		step *= 2;
	return (gib + step - 1) / step * step;
}

static void memory(struct text *t, const json_t *print)
{
	const char *s = get(print, "memory_kib");
	unsigned long long kib;

	if (s && parse_u64(s, &kib) == 0 && kib > 0 && kib < 1ULL << 50)
		text_printf(t, ", %llu GiB", installed_gib(kib));
}

const char *hardware_text(struct fleet *f, const json_t *print)
{
	const char *cpu = get(print, "cpu"), *sockets = get(print, "sockets"),
		   *adapters = get(print, "adapters");
	TEXT_AUTO t = { 0 };

	hardware_gpus(&t, print);
	if (sockets && strcmp(sockets, "1") != 0)
		text_printf(&t, "%s x ", sockets);
	text_add(&t, cpu ? cpu : "CPU not told");
	memory(&t, print);
	if (adapters)
		text_printf(&t, ", %s", adapters);
	return store_text(f, t.s);
}

void hardware_software(struct fleet *f, const json_t *print, const char **out)
{
	for (int i = 0; i < FLEET_SOFTWARE; i++) {
		const char *s = get(print, software[i].key);

		out[i] = s ? store_text(f, s) : NULL;
	}
}

/* What more than half of them have; NULL: nothing is. */
static const char *hardware_usual(const struct fleet_bench *b, int kind)
{
	const char *it = NULL;
	size_t votes = 0, n = 0;

	for (size_t i = 0; i < b->n; i++) {
		const char *s = b->by[i]->machine->software[kind];

		if (!s)
			continue;
		if (!votes)
			it = s;
		votes = strcmp(it, s) == 0 ? votes + 1 : votes - 1;
	}
	for (size_t i = 0; i < b->n && it; i++) {
		const char *s = b->by[i]->machine->software[kind];

		n += s && strcmp(it, s) == 0;
	}
	return 2 * n > b->n ? it : NULL;
}

const char *fleet_unusual(struct arena *a, const struct fleet_bench *b,
			  const struct fleet_machine *m)
{
	TEXT_AUTO t = { 0 };

	for (int i = 0; i < FLEET_SOFTWARE; i++) {
		const char *most = m->software[i] ? hardware_usual(b, i) : NULL;

		if (most && strcmp(most, m->software[i]) != 0)
			text_printf(&t, "%s%s %s, most have %s", t.len ? "; " : "",
				    software[i].name, m->software[i], most);
	}
	return t.len ? arena_strdup(a, t.s) : NULL;
}
