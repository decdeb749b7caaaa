/* SPDX-License-Identifier: Apache-2.0 */
/* Targets as cubins and PTX name them, and whether a fat binary's headers tell the truth. */
#include "look/stack/scan_head.h"

#include <ctype.h>
#include <string.h>

#include "look/stack/elf.h"

enum { EMPTY_MAX = 2048, CUBIN_HEAD = 64, ABI_OLD = 7, FLAG_A_OLD = 0x800, FLAG_A = 0x8 };

/*
 * Since ABI 8 the target is the second byte, before the first. The flag for "a" is set where the
 * code uses what only that target has; a cubin without it need not run elsewhere.
 */
void cubin_target(unsigned abi, uint32_t flags, unsigned *sm, char *suffix)
{
	if (abi <= ABI_OLD) {
		*sm = flags & 0xff;
		*suffix = flags & FLAG_A_OLD ? 'a' : '\0';
	} else {
		*sm = flags >> 8 & 0xff;
		*suffix = flags & FLAG_A ? 'a' : '\0';
	}
}

/* The value of a directive at the begin of a line: ".target sm_121a". */
static const char *directive(const char *text, const char *name)
{
	size_t n = strlen(name);

	while (text) {
		while (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r')
			text++;
		if (strncmp(text, name, n) == 0 && isblank((unsigned char)text[n]))
			return text + n + 1;
		text = strchr(text, '\n');
	}
	return NULL;
}

static unsigned digits(const char **p)
{
	unsigned v = 0;

	for (int i = 0; i < 4 && isdigit((unsigned char)**p); i++)
		v = v * 10 + (unsigned)(*(*p)++ - '0');
	return v;
}

int ptx_target(const char *text, unsigned *sm, char *suffix, unsigned *ptx)
{
	const char *version = directive(text, ".version"), *target = directive(text, ".target");
	unsigned major;

	if (!version || !target)
		return -EINVAL;
	while (isblank((unsigned char)*version))
		version++;
	while (isblank((unsigned char)*target))
		target++;
	major = digits(&version);
	if (!major || *version++ != '.' || strncmp(target, "sm_", 3) != 0)
		return -EINVAL;
	*ptx = major * 10 + digits(&version);
	target += 3;
	*sm = digits(&target);
	*suffix = *target == 'a' || *target == 'f' ? *target : '\0';
	return *sm >= 10 && *sm <= 999 ? 0 : -EINVAL;
}

static int compare_cubin(struct arena *a, const unsigned char *head, size_t n,
			 const struct fatbin_entry *entry, const char **why)
{
	unsigned sm;
	char suffix;

	if (n < CUBIN_HEAD || memcmp(head, "\177ELF", 4) != 0 || le16(head + 18) != ELF_CUDA) {
		*why = "an entry that is called a cubin is none";
		return -EBADMSG;
	}
	cubin_target(head[8], le32(head + 48), &sm, &suffix);
	/* 'a' in the entry alone is usual: see cubin_target. */
	if (sm != entry->code.sm || (suffix && suffix != entry->code.suffix)) {
		*why = arena_printf(a, "an entry for sm_%u%.1s holds a cubin for sm_%u%.1s",
				    entry->code.sm, &entry->code.suffix, sm, &suffix);
		return -EBADMSG;
	}
	return 0;
}

static int compare_ptx(struct arena *a, const char *head, const struct fatbin_entry *entry,
		       const char **why)
{
	unsigned sm, ptx;
	char suffix;

	if (ptx_target(head, &sm, &suffix, &ptx)) {
		*why = "an entry that is called PTX is none";
		return -EBADMSG;
	}
	if (sm != entry->code.sm || suffix != entry->code.suffix || ptx != entry->code.ptx) {
		*why = arena_printf(a,
				    "an entry for compute_%u%.1s, PTX %u.%u holds compute_%u%.1s, "
				    "PTX %u.%u",
				    entry->code.sm, &entry->code.suffix, entry->code.ptx / 10,
				    entry->code.ptx % 10, sm, &suffix, ptx / 10, ptx % 10);
		return -EBADMSG;
	}
	return 0;
}

int head_compare(struct arena *a, struct input *in, const struct fatbin_entry *entry,
		 const char **why)
{
	char head[PTX_HEAD + 1];
	size_t n = entry->code.kind == CODE_PTX ? PTX_HEAD : CUBIN_HEAD, got = 0;
	int code;

	if (entry->code.kind != CODE_PTX && entry->code.kind != CODE_CUBIN)
		return -ENOTSUP;
	code = fatbin_head(in, entry, (unsigned char *)head, n, &got);
	if (code) {
		*why = "an entry cannot be unpacked";
		return code;
	}
	head[got] = '\0';
	if (entry->code.kind == CODE_PTX)
		return compare_ptx(a, head, entry, why);
	return compare_cubin(a, (const unsigned char *)head, got, entry, why);
}

bool head_empty(struct input *in, const struct fatbin_entry *entry)
{
	unsigned char head[EMPTY_MAX];
	size_t got = 0;

	return entry->code.kind == CODE_CUBIN && entry->unpacked_size <= EMPTY_MAX &&
	       fatbin_head(in, entry, head, sizeof(head), &got) == 0 &&
	       got == entry->unpacked_size && !memmem(head, got, ".text.", 6) &&
	       !memmem(head, got, ".nv.global", 10) && !memmem(head, got, ".nv.constant", 12);
}
