/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources: U-Boot boot/pxe_utils.c (keywords in any case, KERNEL or LINUX); NVIDIA edk2-nvidia
 * L4TLauncher.c of r35 and r36 (a # ends a line wherever it stands, the last DEFAULT and the last
 * APPEND win, a DEFAULT that names no label means the first one, no APPEND means a crash);
 * SYSLINUX's description of its configuration file.
 */
#include "machine/host/extlinux.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

static const char blanks[] = " \t\r";

bool extlinux_same(const struct extlinux_part *x, const struct extlinux_part *y)
{
	return (x->at == NULL) == (y->at == NULL) && x->n == y->n &&
	       (!x->at || memcmp(x->at, y->at, x->n) == 0);
}

/* The line's value when it begins with the keyword and a blank, or is the keyword alone. */
static bool is_key(const struct extlinux_part *line, const char *key, struct extlinux_part *value)
{
	size_t n = strlen(key);

	if (line->n < n || strncasecmp(line->at, key, n) != 0 ||
	    (line->n > n && !memchr(blanks, line->at[n], strlen(blanks))))
		return false;
	for (; n < line->n && memchr(blanks, line->at[n], strlen(blanks)); n++)
		;
	*value = (struct extlinux_part){ line->at + n, line->n - n };
	return true;
}

/* The line at *text without blanks at its ends, empty for a comment; *text moves behind it. */
static struct extlinux_part next_line(const char **text)
{
	const char *at = *text + strspn(*text, blanks);
	size_t n = strcspn(at, "\n");

	*text = at + n + (at[n] == '\n');
	while (n && memchr(blanks, at[n - 1], strlen(blanks)))
		n--;
	return (struct extlinux_part){ at, *at == '#' ? 0 : n };
}

/* What DEFAULT names, else the first label. */
static const char *default_label(const char *text, struct extlinux_part *out)
{
	struct extlinux_part first = { 0 }, chosen = { 0 }, value;
	size_t defaults = 0, found = 0;

	for (const char *at = text; *at;) {
		struct extlinux_part line = next_line(&at);

		if (is_key(&line, "DEFAULT", &value)) {
			chosen = value;
			defaults++;
		} else if (is_key(&line, "LABEL", &value) && !first.at) {
			first = value;
		}
	}
	if (!first.at)
		return "the file has no LABEL line";
	if (defaults > 1)
		return "the file has two DEFAULT lines";
	*out = defaults ? chosen : first;
	for (const char *at = text; *at;) {
		struct extlinux_part line = next_line(&at);

		found += is_key(&line, "LABEL", &value) && extlinux_same(&value, out);
	}
	return found == 1 ? NULL
	       : found	  ? "the file has two LABEL lines with the default name"
			  : "DEFAULT names a missing LABEL";
}

const char *extlinux_parse(const char *text, struct extlinux_entry *out)
{
	const char *why;
	size_t appends = 0;
	bool in = false;

	*out = (struct extlinux_entry){ .made = strstr(text, "u-boot-update") != NULL };
	why = default_label(text, &out->label);
	for (const char *at = text; !why && *at;) {
		struct extlinux_part line = next_line(&at), value;

		if (is_key(&line, "LABEL", &value))
			in = extlinux_same(&value, &out->label);
		else if (in && (is_key(&line, "LINUX", &value) || is_key(&line, "KERNEL", &value)))
			out->kernel = value;
		else if (in && is_key(&line, "INITRD", &value))
			out->initrd = value;
		else if (in && is_key(&line, "APPEND", &value) && ++appends)
			out->append = value;
	}
	if (why)
		return why;
	return !out->kernel.n	? "the default LABEL has no LINUX or KERNEL line"
	       : appends > 1	? "the default LABEL has two APPEND lines"
	       : !out->append.n ? "the default LABEL has no arguments after APPEND"
	       : memchr(out->append.at, '#', out->append.n)
		       ? "the arguments contain a #, which some loaders treat as a comment"
		       : NULL;
}
