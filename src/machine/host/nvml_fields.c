/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvmlDeviceGetFieldValues: many small numbers in one call. A group is fetched when one of its
 * fields is asked for; the fields of links for all links at once.
 */
#include <stdlib.h>
#include <string.h>

#include "machine/host/nvml_gpu.h"

enum { BATCH_MAX = NVML_FIELD_NAMES * NVML_LINKS_MAX };

/* Drivers leave an entry as it was when another field of the same call is refused. */
enum { UNTOUCHED = -1 };

static void call(struct nvml_gpu *g, struct nvml_field *f, size_t n)
{
	int r = g->nvml->api.nvmlDeviceGetFieldValues(g->dev, (int)n, f);

	for (size_t i = 0; r && i < n; i++)
		f[i].result = r;
}

static int value_of(const struct nvml_field *f, long long *out)
{
	if (f->result)
		return f->result;
	switch (f->type) {
	case NVML_VALUE_UINT:
		*out = f->value.u;
		return 0;
	case NVML_VALUE_ULONG:
		*out = (long long)f->value.ul;
		return 0;
	case NVML_VALUE_ULL:
		*out = (long long)f->value.ull;
		return 0;
	case NVML_VALUE_LL:
		*out = f->value.ll;
		return 0;
	case NVML_VALUE_INT:
		*out = f->value.i;
		return 0;
	case NVML_VALUE_USHORT:
		*out = f->value.us;
		return 0;
	default:
		return NVML_UNKNOWN;
	}
}

static size_t find(const char *s, size_t len)
{
	size_t i = 0;

	while (i < NVML_FIELD_NAMES && (strlen(nvml_field_names[i].name) != len ||
					memcmp(nvml_field_names[i].name, s, len) != 0))
		i++;
	return i;
}

/* Times are 64 bits wide; what else has had the number (switches, per cent, Watts) is narrower. */
static bool is_time(struct nvml_gpu *g, unsigned id)
{
	struct nvml_field f = { .id = id, .result = UNTOUCHED };

	call(g, &f, 1);
	return f.result == 0 &&
	       (f.type == NVML_VALUE_ULL || f.type == NVML_VALUE_LL || f.type == NVML_VALUE_ULONG);
}

/* The driver's version does not tell: the numbers went back within R580. */
static void learn_numbering(struct nvml_gpu *g)
{
	size_t i = find(NVML_FIELD_RENUMBERED, strlen(NVML_FIELD_RENUMBERED));

	if (g->fields->numbered || i == NVML_FIELD_NAMES)
		return;
	g->fields->numbered = true;
	g->fields->as_575 =
		!is_time(g, nvml_field_names[i].id) && is_time(g, nvml_field_names[i].id_575);
}

static unsigned id_of(const struct nvml_gpu *g, size_t i)
{
	const struct nvml_field_name *f = &nvml_field_names[i];

	return g->fields->as_575 && f->id_575 ? f->id_575 : f->id;
}

static void fetch(struct nvml_gpu *g, enum nvml_field_group group, unsigned links)
{
	struct nvml_field *batch = calloc(BATCH_MAX, sizeof(*batch));
	size_t n = 0, k = 0;

	if (!batch)
		out_of_memory(0);
	if (group == NVML_FIELDS_SLOWDOWN || group == NVML_FIELDS_HW_SLOWDOWN)
		learn_numbering(g);
	for (size_t i = 0; i < NVML_FIELD_NAMES; i++)
		for (unsigned l = 0; nvml_field_names[i].group == group && l < links; l++)
			batch[n++] = (struct nvml_field){ .id = id_of(g, i),
							  .scope = nvml_field_names[i].scope + l,
							  .result = UNTOUCHED };
	if (n)
		call(g, batch, n);
	for (size_t i = 0; i < n; i++)
		if (batch[i].result == UNTOUCHED)
			call(g, &batch[i], 1);
	for (size_t i = 0; i < NVML_FIELD_NAMES; i++)
		for (unsigned l = 0; nvml_field_names[i].group == group && l < links; l++) {
			g->fields->f[i][l] = batch[k++];
			g->fields->fresh[i][l] = true;
		}
	free(batch);
}

static unsigned link_count(struct nvml_gpu *g)
{
	static const char name[] = "NVLINK_LINK_COUNT";
	long long n = 0;

	if (nvml_field(g, name, sizeof(name) - 1, &n) || n < 0)
		return 0;
	return n < NVML_LINKS_MAX ? (unsigned)n : NVML_LINKS_MAX;
}

int nvml_field(struct nvml_gpu *g, const char *s, size_t len, long long *out)
{
	const char *comma = memchr(s, ',', len);
	size_t n = comma ? (size_t)(comma - s) : len, i = find(s, n);
	unsigned link = 0, links = 1;

	if (i == NVML_FIELD_NAMES || nvml_field_of_link(&nvml_field_names[i]) != (comma != NULL))
		return NVML_INVALID_ARGUMENT;
	if (comma && nvml_args_parse(&nvml_args_link, comma + 1, len - n - 1, &link))
		return NVML_INVALID_ARGUMENT;
	if (!g->fields) {
		g->fields = calloc(1, sizeof(*g->fields));
		if (!g->fields)
			out_of_memory(0);
	}
	if (!g->fields->fresh[i][link]) {
		if (comma)
			links = link_count(g);
		if (link >= links)
			return NVML_NOT_SUPPORTED;
		fetch(g, nvml_field_names[i].group, links);
	}
	g->fields->fresh[i][link] = false;
	return value_of(&g->fields->f[i][link], out);
}
