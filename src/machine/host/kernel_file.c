/* SPDX-License-Identifier: Apache-2.0 */
/* Text files of sysfs and procfs that answer a write as Linux 6 does. */
#include "machine/host/kernel_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The file of that name in the same folder. */
static const char *sibling(const struct kernel_file *f, const char *name)
{
	const char *slash = strrchr(f->path, '/');

	return arena_printf(f->a, "%.*s/%s", (int)(slash - f->path), f->path, name);
}

/* Whether word is one of the blank-separated words of list, brackets aside. */
static bool kernel_file_offers(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; *p;) {
		size_t k;

		p += strspn(p, " \t\n[]");
		k = strcspn(p, " \t\n[]");
		if (k == n && n && strncmp(p, word, n) == 0)
			return true;
		p += k;
	}
	return false;
}

/* "always [madvise] never" after "never" was written. */
static const char *kernel_file_choose(const struct kernel_file *f, const char *word)
{
	TEXT_AUTO out = { 0 };
	size_t n = strlen(word);

	for (const char *p = f->old; *p;) {
		size_t k = strcspn(p, " \t\n[]");
		bool chosen = k == n && strncmp(p, word, n) == 0;

		if (*p == '[' || *p == ']') {
			p++;
			continue;
		}
		if (!k) {
			text_addc(&out, *p++);
			continue;
		}
		text_printf(&out, chosen ? "[%.*s]" : "%.*s", (int)k, p);
		p += k;
	}
	return arena_strdup(f->a, out.s ? out.s : "");
}

static bool is_numbers(const char *s)
{
	bool any = false, begins = true;

	for (; *s; s++) {
		bool digit = isdigit((unsigned char)*s), blank = isspace((unsigned char)*s);

		any = any || digit;
		if (!digit && !blank && (*s != '-' || !begins))
			return false;
		begins = blank;
	}
	return any;
}

/* Numbers of /proc/sys as it prints them: a leading 0 is octal, and what is left over is refused.
 * NULL: refused. */
static const char *printed(const struct kernel_file *f, const char *numbers)
{
	TEXT_AUTO out = { 0 };

	if (!str_starts(f->path, "/proc/sys/"))
		return numbers;
	for (const char *p = numbers; *p;) {
		size_t blank = strspn(p, " \t\n");
		char *end;
		unsigned long long n;

		text_printf(&out, "%.*s", (int)blank, p);
		p += blank;
		errno = 0;
		n = *p == '-' ? (unsigned long long)strtoll(p, &end, 0) : strtoull(p, &end, 0);
		if (errno || end == p || (*end && !isspace((unsigned char)*end)))
			return NULL;
		if (*p == '-')
			text_printf(&out, "%lld", (long long)n);
		else
			text_printf(&out, "%llu", n);
		p = end;
	}
	return arena_strdup(f->a, out.s ? out.s : "");
}

/* The separators and the end that the file had: the kernel prints numbers with tabs between. */
static const char *in_its_style(const struct kernel_file *f, const char *text)
{
	char *s = arena_printf(f->a, "%s%s", text, str_ends(f->old, "\n") ? "\n" : "");

	if (strchr(f->old, '\t'))
		for (char *p = s; *p; p++)
			if (*p == ' ')
				*p = '\t';
	return s;
}

/* vm.dirty_ratio and vm.dirty_bytes are one setting: who changes one zeroes the other, and zero
 * bytes are refused. */
static int kernel_file_dirty(const struct kernel_file *f, const char *text,
			     kernel_file_beside *beside, void *ctx)
{
	static const char *const pairs[][2] = {
		{ "dirty_ratio", "dirty_bytes" },
		{ "dirty_background_ratio", "dirty_background_bytes" },
	};

	if (!str_starts(f->path, "/proc/sys/vm/dirty_"))
		return 0;
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < 2; k++) {
			if (strcmp(f->path + strlen("/proc/sys/vm/"), pairs[i][k]) != 0)
				continue;
			if (k == 1 && strcmp(text, "0") == 0)
				return -EINVAL;
			if (str_starts(f->old, text) && strchr("\n", f->old[strlen(text)]))
				return 0;
			return beside(ctx, sibling(f, pairs[i][1 - k]), "0\n");
		}
	return 0;
}

/* A new I/O scheduler starts with a queue depth of its own: twice 128, or what the hardware has. */
static int scheduler(const struct kernel_file *f, const char *text, kernel_file_beside *beside,
		     void *ctx)
{
	if (!str_ends(f->path, "/queue/scheduler"))
		return 0;
	return beside(ctx, sibling(f, "nr_requests"),
		      strcmp(text, "none") == 0 ? "1023\n" : "256\n");
}

static int governor(const struct kernel_file *f, const char *text)
{
	char *list;

	if (!str_ends(f->path, "/scaling_governor") ||
	    host_read(f->h, sibling(f, "scaling_available_governors"), HOST_READ_MAX, f->a, &list,
		      NULL))
		return 0;
	return kernel_file_offers(list, text) ? 0 : -EINVAL;
}

int kernel_file_write(struct kernel_file *f, const char *text, kernel_file_beside *beside,
		      void *ctx)
{
	size_t n;
	const char *s = str_trim(text, strlen(text), &n), *word = arena_strndup(f->a, s, n);
	int r;

	if (strchr(f->old, '[')) {
		if (!kernel_file_offers(f->old, word))
			return -EINVAL;
		f->now = kernel_file_choose(f, word);
		return scheduler(f, word, beside, ctx);
	}
	if (is_numbers(f->old))
		word = is_numbers(word) ? printed(f, word) : NULL;
	if (!word)
		return -EINVAL;
	r = governor(f, word);
	if (r == 0)
		r = kernel_file_dirty(f, word, beside, ctx);
	if (r == 0)
		f->now = in_its_style(f, word);
	return r;
}
