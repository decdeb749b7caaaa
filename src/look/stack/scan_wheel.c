/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries inside a wheel, one by one, without unpacking any to disk. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "look/stack/scan.h"

const char *scan_kind_name(enum scan_kind k)
{
	static const char *const names[] = { "other",  "elf",	"archive", "wheel",
					     "fatbin", "cubin", "ptx" };

	return names[k];
}

/* "libx.so.13.1": digits and dots after ".so." */
static bool versioned(const char *name)
{
	const char *p = strstr(name, ".so.");

	if (!p)
		return false;
	for (p += 4; *p; p++)
		if (!isdigit((unsigned char)*p) && *p != '.')
			return strstr(p, ".so.") && versioned(p);
	return true;
}

bool scan_name(const char *name)
{
	static const char *const ends[] = { ".so",     ".a",   ".o",   ".cubin",
					    ".fatbin", ".ptx", ".whl", ".pyd" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (str_ends(name, ends[i]))
			return true;
	return versioned(name);
}

static void add_part(struct arena *a, struct scan *out, const struct scan *part)
{
	for (size_t i = 0; i < part->codes.n; i++)
		code_add(a, &out->codes, &part->codes.items[i]);
	out->containers += part->containers;
	out->entries += part->entries;
	out->registered += part->registered;
	out->opened += part->opened;
	for (size_t g = 0; g < GPU_TARGETS_MAX; g++)
		for (size_t k = 0; k < CODE_ANSWERS; k++)
			out->served[g][k] += part->served[g][k];
	if (part->n_problems || part->error) {
		if (out->n_problems < SCAN_PROBLEMS)
			out->problems[out->n_problems] =
				arena_printf(a, "%s: %s", part->path,
					     part->error ? part->error : part->problems[0]);
		out->n_problems++;
	}
	if (!part->entries && !part->error)
		return;
	out->parts = arena_grow(a, out->parts, out->n_parts, sizeof(*out->parts));
	out->parts[out->n_parts++] = *part;
}

void scan_wheel(struct arena *a, const struct zip *z, const struct scan_options *how,
		struct scan *out)
{
	for (size_t i = 0; i < z->n; i++) {
		const struct zip_entry *entry = &z->entries[i];
		struct zip_member m;
		struct scan part;
		struct err e = { 0 };

		/* A wheel in a wheel is data: nothing loads it. */
		if (entry->folder || !scan_name(entry->name) || str_ends(entry->name, ".whl"))
			continue;
		if (zip_member(z, entry, &m, &e)) {
			part = (struct scan){ .path = entry->name,
					      .error = arena_strdup(a, e.text) };
		} else {
			scan_input(a, m.in, entry->name, how, &part);
			zip_close(&m);
		}
		add_part(a, out, &part);
	}
	code_sort(&out->codes);
}
