/* SPDX-License-Identifier: Apache-2.0 */
/* The read-only data of a library, where its own words about itself stand. */
#include "look/stack/rodata.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 20, KEEP = RODATA_KEEP };

struct inside {
	struct input *in;
	struct arena *a;
	const char *section; /* wanted */
	struct elf_section found;
	bool there;
};

static int on_section(void *ctx, const struct elf_section *s)
{
	struct inside *x = ctx;

	if (strcmp(s->name, x->section) != 0)
		return 0;
	x->found = *s;
	x->there = true;
	return 1;
}

bool elf_section(struct input *in, const struct elf *elf, const char *name, struct elf_section *out)
{
	struct inside x = { .in = in, .section = name };
	struct err e = { 0 };

	elf_each(in, elf, on_section, &x, &e);
	*out = x.found;
	return x.there;
}

int rodata_each(struct input *in, const struct elf *elf,
		int (*each)(void *ctx, const char *p, size_t n), void *ctx, uint64_t max, bool *all)
{
	struct elf_section s;
	char *buf = malloc(BLOCK + KEEP);
	uint64_t end;
	size_t kept = 0;
	int code = 0;

	*all = true;
	if (!buf || !elf_section(in, elf, ".rodata", &s)) {
		free(buf);
		return 0;
	}
	end = !max || s.size < max ? s.size : max;
	*all = end == s.size;
	for (uint64_t at = 0; at < end && !code; at += BLOCK) {
		size_t n = end - at < BLOCK ? (size_t)(end - at) : BLOCK;

		if (input_read(in, s.at + at, buf + kept, n))
			break;
		n += kept;
		code = each(ctx, buf, n);
		kept = n < KEEP ? n : KEEP;
		memmove(buf, buf + n - kept, kept);
	}
	free(buf);
	return code;
}

struct version_after {
	const char *before, *form;
	char *out;
	size_t cap;
};

static int version_there(void *ctx, const char *p, size_t n)
{
	struct version_after *w = ctx;
	size_t len = strlen(w->before);

	for (const char *at = p; (at = memmem(at, n - (size_t)(at - p), w->before, len));) {
		size_t k = 0, left;

		at += len;
		left = n - (size_t)(at - p);
		while (k < left && k < w->cap - 1 &&
		       (isdigit((unsigned char)at[k]) || at[k] == '.'))
			k++;
		if (k > 2 && isdigit((unsigned char)*at)) {
			memcpy(w->out, at, k);
			w->out[k] = '\0';
			return 1;
		}
	}
	return 0;
}

/* Digits and dots of a version of three parts that a NUL ends, a suffix between; 0: none. */
static size_t version_length(const char *p, size_t left)
{
	size_t k = 0, end, dots = 0;

	for (; k < left && k < 32 && (isdigit((unsigned char)p[k]) || (k && p[k] == '.')); k++)
		dots += p[k] == '.';
	for (end = k; end < left && end < 64 && p[end] > ' ' && p[end] < 127; end++)
		;
	return dots > 1 && end < left && !p[end] && (end == k || strchr("-+~", p[k])) ? k : 0;
}

/* False: it differs from the one that was found before, and neither is certain. */
static bool version_keep(struct version_after *w, const char *v, size_t k)
{
	if (k >= w->cap || (strncmp(w->out, v, k) == 0 && !w->out[k]))
		return true;
	if (*w->out) {
		*w->out = '\0';
		return false;
	}
	memcpy(w->out, v, k);
	w->out[k] = '\0';
	return true;
}

/* Go's linker puts what -X sets near Go's own version, NUL-ended and at multiples of 4. */
static int go_there(void *ctx, const char *p, size_t n)
{
	struct version_after *w = ctx;
	const char *at = p, *q;
	size_t k;

	while ((at = memmem(at, n - (size_t)(at - p), "go1.", 4)) &&
	       ((at - p) % 4 || !version_length(at + 2, n - (size_t)(at + 2 - p))))
		at++;
	if (!at)
		return 0;
	for (q = at - p > KEEP / 2 ? at - KEEP / 2 : p; q < p + n && q - at < KEEP / 2; q += 4) {
		const char *v = q + (*q == 'v');

		k = version_length(v, n - (size_t)(v - p));
		if (k && !version_keep(w, v, k))
			return 1;
	}
	return *w->out != '\0';
}

/* A version that is the whole of a text. */
static int form_there(void *ctx, const char *p, size_t n)
{
	struct version_after *w = ctx;

	for (const char *q = p, *end = p + n; (q = memchr(q, '\0', (size_t)(end - q)));) {
		size_t k, i = 0;

		q++;
		k = version_length(q, (size_t)(end - q));

		while (i < k && w->form[i] &&
		       (w->form[i] == '#' ? isdigit((unsigned char)q[i]) : w->form[i] == q[i]))
			i++;
		if (k && !w->form[i] && !memchr(q + i, '.', k - i) && !version_keep(w, q, k))
			return 1;
	}
	return 0;
}

void rodata_version(struct input *in, const struct elf *elf, const char *before, const char *form,
		    uint64_t max, char *out, size_t cap)
{
	struct version_after w = { before, form, out, cap };
	bool all;

	*out = '\0';
	rodata_each(in, elf, before ? version_there : form ? form_there : go_there, &w, max, &all);
}
