/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One IPv4 address of one interface, there or not: the name is the address with its prefix length,
 * the object the interface. Others' addresses of the interface are not touched.
 */
#include <net/if.h>
#include <string.h>

#include "base/ipv4.h"
#include "base/text.h"
#include "machine/write/write.h"
#include "machine/knob/kinds.h"

enum { WORD_MAX = 24 };

static const char present[] = "present", absent[] = "absent";

/* Anew, where somebody may have changed it since; a capture has one answer alone. */
static int knob_address_list_of(struct host *h, const struct knob *k, const char **list)
{
	struct answer now;
	int r = host_ask(h, "if", k->object, "ipv4-now", &now);

	if (r)
		r = host_ask(h, "if", k->object, "ipv4", &now);
	if (r)
		return r;
	if (now.kind != ANSWER_TEXT)
		return -EPROTO;
	*list = now.text;
	return 0;
}

/* Where the word stands in the list; NULL. */
static const char *knob_address_find(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list + strspn(list, " "); *p; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");

		if (len == n && strncmp(p, word, n) == 0)
			return p;
		p += len;
	}
	return NULL;
}

static int address_get(struct host *h, struct arena *a, const struct knob *k, const char **value,
		       struct err *e)
{
	const char *list;
	int r = knob_address_list_of(h, k, &list);

	(void)a;
	if (r)
		return knob_fail(e, r == -ENODATA ? -EIO : r, "read", k);
	*value = knob_address_find(list, k->name) ? present : absent;
	return 0;
}

static const char *without(struct arena *a, const char *list, const char *at, size_t n)
{
	const char *rest = at + n + strspn(at + n, " ");
	size_t head = (size_t)(at - list);

	while (head && !*rest && list[head - 1] == ' ')
		head--;
	return arena_printf(a, "%.*s%s", (int)head, list, rest);
}

/* Our address is gone, and others' with it that could not be put back: they are named. 0: all is as
 * wanted after all. */
static int knob_address_lost(struct host *h, struct arena *a, const struct knob *k,
			     const char *wanted, int r, struct err *e)
{
	TEXT_AUTO out = { 0 };
	const char *now;

	if (knob_address_list_of(h, k, &now) || knob_address_find(now, k->name))
		return knob_fail(e, r, "remove", k);
	for (const char *p = wanted; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");
		const char *word = arena_strndup(a, p, n);

		if (!knob_address_find(now, word))
			text_printf(&out, "%s%s", out.len ? ", " : "", word);
		p += n;
	}
	if (!out.len)
		return 0;
	return err_set(e, r,
		       "%s was removed from %s. The kernel also removed %s, which gputune could "
		       "not restore (%s): run ip address add for each of them",
		       k->name, k->object, out.s, strerror(-r));
}

static int address_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		       struct err *e)
{
	bool add = strcmp(value, present) == 0;
	const char *list, *at;
	int r = knob_address_list_of(h, k, &list);

	if (r == 0) {
		at = knob_address_find(list, k->name);
		if ((at != NULL) == add)
			return 0;
		list = add ? arena_printf(a, "%s%s%s", list, *list ? " " : "", k->name)
			   : without(a, list, at, strlen(k->name));
		r = host_set_text(h, "if", k->object, "ipv4", list);
		if (r && !add)
			return knob_address_lost(h, a, k, list, r, e);
	}
	return r ? knob_fail(e, r, add ? "add" : "remove", k) : 0;
}

/* As inet_ntop writes it, with a prefix length of 1 to 32: nothing else is ever asked for. */
static bool is_address(const char *s)
{
	ARENA_AUTO a = { 0 };
	struct ipv4 x;

	/* As it is written, no other way. */
	return strlen(s) < WORD_MAX && ipv4_parse(s, &x) == 0 && x.bits &&
	       strcmp(ipv4_text(&a, x), s) == 0;
}

static bool address_valid(const struct knob *k, const char *value, const char **why)
{
	if (!is_address(k->name))
		return knob_unsound(why, "expected an address such as 192.168.100.1/24");
	if (!knob_is_word(k->object, IFNAMSIZ - 1, "_.-@"))
		return knob_unsound(why, "\"object\" is not an interface name");
	if (value && strcmp(value, present) != 0 && strcmp(value, absent) != 0)
		return knob_unsound(why, "an address must be present or absent");
	return true;
}

static const char *address_command(struct arena *a, const struct knob *k, const char *value)
{
	return arena_printf(a, "ip address %s %s dev %s%s",
			    strcmp(value, present) == 0 ? "add" : "del", k->name, k->object,
			    strcmp(value, present) == 0 ? " broadcast +" : "");
}

/* What is as it shall be needs no command, and ip would refuse it. */
static const char *address_command_here(struct host *h, struct arena *a, const struct knob *k,
					const char *value)
{
	const char *list;

	if (knob_address_list_of(h, k, &list) == 0 &&
	    (knob_address_find(list, k->name) != NULL) == (strcmp(value, present) == 0))
		return NULL;
	return address_command(a, k, value);
}

const struct knob_ops knob_ops_address = {
	.get = address_get,
	.set = address_set,
	.valid = address_valid,
	.command = address_command,
	.command_here = address_command_here,
	.place = knob_place_interface,
};
