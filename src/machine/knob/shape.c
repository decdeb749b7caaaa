/* SPDX-License-Identifier: Apache-2.0 */
/* What the kinds share: the shapes of names, comparing values, quoting for a shell, sentences of
 * refusal, and where a device's link leads. */
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "machine/write/write.h"
#include "machine/knob/kinds.h"

enum { WORD_MAX_LEN = 63 };

bool knob_unsound(const char **why, const char *sentence)
{
	*why = sentence;
	return false;
}

static bool plain_letter(char c)
{
	return isalnum((unsigned char)c) && (unsigned char)c < 0x80;
}

const char *knob_quote(struct arena *a, const char *word)
{
	const char *c = word;

	while (*c && (plain_letter(*c) || strchr("_./:=,+-@%", *c)))
		c++;
	if (*word && !*c)
		return word;
	return shell_quote(a, word);
}

static bool hex_run(const char **s, size_t least, size_t most)
{
	size_t n = 0;

	while (n < most && isxdigit((unsigned char)(*s)[n]))
		n++;
	*s += n;
	return n >= least;
}

bool knob_is_pci_address(const char *s)
{
	if (!hex_run(&s, 4, 8) || *s++ != ':' || !hex_run(&s, 2, 2) || *s++ != ':' ||
	    !hex_run(&s, 2, 2) || *s++ != '.')
		return false;
	return *s >= '0' && *s <= '7' && !s[1];
}

bool knob_is_word(const char *s, size_t max, const char *extra)
{
	size_t n = 0;

	if (!plain_letter(*s))
		return false;
	while (s[n] && (plain_letter(s[n]) || strchr(extra, s[n])))
		n++;
	return !s[n] && n <= max;
}

bool knob_is_number(const char *s)
{
	unsigned long long v;

	return isdigit((unsigned char)*s) && strspn(s, "0123456789") == strlen(s) &&
	       parse_u64(s, &v) == 0;
}

/* The next word of *s, which is moved behind it; false at the end. */
static bool knob_shape_next_word(const char **s, const char **word, size_t *len)
{
	while (isspace((unsigned char)**s))
		++*s;
	*word = *s;
	while (**s && !isspace((unsigned char)**s))
		++*s;
	*len = (size_t)(*s - *word);
	return *len > 0;
}

static bool word_number(const char *word, size_t len, long long *out)
{
	char buf[WORD_MAX_LEN + 1];
	unsigned long long hex;

	if (len > WORD_MAX_LEN)
		return false;
	memcpy(buf, word, len);
	buf[len] = '\0';
	if (!str_starts(buf, "0x") && !str_starts(buf, "0X"))
		return parse_i64(buf, out) == 0;
	if (parse_hex(buf, &hex) || hex > LLONG_MAX)
		return false;
	*out = (long long)hex;
	return true;
}

bool knob_same_text(const char *x, const char *y)
{
	const char *wx, *wy;
	size_t nx, ny;

	for (;;) {
		bool more_x = knob_shape_next_word(&x, &wx, &nx),
		     more_y = knob_shape_next_word(&y, &wy, &ny);
		long long vx, vy;

		if (!more_x || !more_y)
			return more_x == more_y;
		if (nx == ny && memcmp(wx, wy, nx) == 0)
			continue;
		if (!word_number(wx, nx, &vx) || !word_number(wy, ny, &vy) || vx != vy)
			return false;
	}
}

/* Why, in words that hold for every kind. */
static const char *knob_shape_reason(int r)
{
	switch (r) {
	case HOST_NOT_CAPTURED:
		return "not in the capture";
	case -EROFS:
		return "not writable: a dry run, a captured machine, or a read-only mount";
	case -EACCES:
	case -EPERM:
		return "permission denied";
	case -ENOENT:
	case -ENOTDIR:
		return "not found on the machine";
	case -ENODEV:
	case -ENXIO:
		return "the device is gone";
	case -EOPNOTSUPP:
	case -ENOSYS:
		return "not supported by the kernel, driver or library";
	case -EINVAL:
		return "invalid value or request";
	case -ERANGE:
		return "value out of range";
	case -EBUSY:
		return "in use";
	case -EIO:
		return "input/output error";
	case -EFBIG:
		return "value larger than expected";
	case -ENOMEM:
		return "out of memory";
	case -ENOSPC:
		return "no space left";
	default:
		return NULL;
	}
}

int knob_fail(struct err *e, int r, const char *verb, const struct knob *k)
{
	ARENA_AUTO a = { 0 };
	const char *why = knob_shape_reason(r);

	err_set(e, r, "could not %s %s: %s%s%s", verb, knob_text(&a, k), why ? why : "",
		why ? "" : "error ", why ? "" : errno_name(r));
	if (r == -EACCES || r == -EPERM)
		err_hint(e, "changing the machine requires root");
	return r;
}

int knob_put_fail(struct host *h, struct err *e, int r, const struct knob *k, const char *path)
{
	ARENA_AUTO a = { 0 };

	if (r != HOST_NOT_KEPT)
		return knob_fail(e, r, "set", k);
	err_set(e, r, "could not set %s: replacing %s would lose %s; nothing was changed",
		knob_text(&a, k), path, h->lost);
	err_hint(e,
		 "gputune only replaces a file if it can preserve owner and attributes: getfattr "
		 "-d -m - %s shows the attributes",
		 path);
	return r;
}

int knob_check_links(struct host *h, struct err *e, const struct knob *k, const char *path)
{
	ARENA_AUTO a = { 0 };
	struct host_stat st;

	if (host_stat(h, path, &st) || st.kind != HOST_FILE || st.links < 2)
		return 0;
	err_set(e, -EMLINK,
		"could not set %s: %s has %lu hard links, and a new file would replace only one of "
		"them; nothing was changed",
		knob_text(&a, k), path, st.links);
	err_hint(e, "find / -xdev -samefile %s lists the hard links; make %s a separate file first",
		 path, path);
	return -EMLINK;
}

bool knob_left_is_ours(struct host *h, const char *path)
{
	struct host_stat st;

	return host_stat(h, path, &st) == 0 && st.kind == HOST_FILE && st.links == 1 &&
	       (st.uid == h->id.euid || st.uid == 0);
}

const char *knob_place_link(struct host *h, struct arena *a, const char *path)
{
	char buf[HOST_PATH_MAX];

	if (host_link_path(h, path, buf, sizeof(buf)) || !str_starts(buf, "/sys/devices/"))
		return "";
	return arena_strdup(a, buf);
}

const char *knob_place_pci(struct host *h, struct arena *a, const struct knob *k)
{
	return knob_place_link(h, a, arena_printf(a, "/sys/bus/pci/devices/%s", k->object));
}
