/* SPDX-License-Identifier: Apache-2.0 */
/* Reading just enough of netplan's YAML and of networkd's files to know which part is about an
 * interface. */
#include "tune/persist/netplan.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

enum { DEPTH_MAX = 6 };

/* One line of block style: keys by depth, the value of the last one. */
struct place {
	const char *keys[DEPTH_MAX];
	int indents[DEPTH_MAX];
	int depth; /* how many keys lead here */
	const char *value;
};

static const char *unquoted(struct arena *a, const char *s, size_t n)
{
	s = str_trim(s, n, &n);
	if (n >= 2 && (*s == '"' || *s == '\'') && s[n - 1] == *s)
		return arena_strndup(a, s + 1, n - 2);
	return arena_strndup(a, s, n);
}

/* A key ends at a colon with a blank or nothing behind it, outside quotes. */
static const char *colon_of(const char *line, const char *end)
{
	char quote = 0;

	for (const char *c = line; c < end; c++) {
		if (quote)
			quote = *c == quote ? 0 : quote;
		else if (*c == '"' || *c == '\'')
			quote = *c;
		else if (*c == ':' && (c + 1 == end || c[1] == ' '))
			return c;
	}
	return NULL;
}

/* The next line with a key; false at the end. *text is moved. */
static bool next_place(struct arena *a, const char **text, struct place *p)
{
	while (**text) {
		const char *line = *text, *end = line + strcspn(line, "\n"), *colon, *hash;
		int indent = (int)strspn(line, " ");

		*text = *end ? end + 1 : end;
		hash = memchr(line, '#', (size_t)(end - line));
		if (hash && (hash == line || isspace((unsigned char)hash[-1])))
			end = hash;
		line += indent;
		if (line >= end || *line == '-')
			continue;
		colon = colon_of(line, end);
		if (!colon)
			continue;
		while (p->depth && p->indents[p->depth - 1] >= indent)
			p->depth--;
		if (p->depth == DEPTH_MAX)
			continue;
		p->keys[p->depth] = unquoted(a, line, (size_t)(colon - line));
		p->indents[p->depth++] = indent;
		p->value = unquoted(a, colon + 1, (size_t)(end - colon - 1));
		return true;
	}
	return false;
}

static bool is_at(const struct place *p, int depth, const char *key)
{
	return p->depth > depth && strcmp(p->keys[depth], key) == 0;
}

/* What a line says about the definition it stands in. */
static bool is_about(const struct place *p, const char *interface, const char *mac)
{
	if (p->depth == 4 && is_at(p, 3, "set-name"))
		return strcmp(p->value, interface) == 0;
	if (p->depth != 5 || !is_at(p, 3, "match"))
		return false;
	if (is_at(p, 4, "name"))
		return *p->value && fnmatch(p->value, interface, 0) == 0;
	return is_at(p, 4, "macaddress") && *mac && strcasecmp(p->value, mac) == 0;
}

const char *netplan_find(struct arena *a, const char *text, const char *interface, const char *mac,
			 const char **section)
{
	static const char *const sections[] = { "ethernets", "bonds", "bridges", "vlans" };
	struct place p = { .depth = 0 };

	while (next_place(a, &text, &p)) {
		if (!is_at(&p, 0, "network") || p.depth < 3)
			continue;
		for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
			if (!is_at(&p, 1, sections[i]) ||
			    !((p.depth == 3 && strcmp(p.keys[2], interface) == 0) ||
			      is_about(&p, interface, mac)))
				continue;
			*section = sections[i];
			return p.keys[2];
		}
	}
	return NULL;
}

static bool is_of(const struct place *p, const char *section, const char *id)
{
	return p->depth >= 4 && is_at(p, 0, "network") && is_at(p, 1, section) && is_at(p, 2, id);
}

const char *netplan_value(struct arena *a, const char *text, const char *section, const char *id,
			  const char *key)
{
	struct place p = { .depth = 0 };

	while (next_place(a, &text, &p))
		if (p.depth == 4 && is_of(&p, section, id) && is_at(&p, 3, key))
			return p.value;
	return NULL;
}

bool netplan_is_by_address(struct arena *a, const char *text, const char *section, const char *id)
{
	struct place p = { .depth = 0 };

	while (next_place(a, &text, &p))
		if (is_of(&p, section, id) && is_at(&p, 3, "match") &&
		    (is_at(&p, 4, "macaddress") || strstr(p.value, "macaddress:")))
			return true;
	return false;
}

/* Whether a word of the list, globs for names, is the one that is looked for. */
static bool netplan_is_listed(struct arena *a, const char *list, const char *name, const char *mac)
{
	char *words = arena_strdup(a, list), *save = NULL;

	for (const char *word = strtok_r(words, " \t", &save); word;
	     word = strtok_r(NULL, " \t", &save))
		if (name ? fnmatch(word, name, 0) == 0 : *mac && strcasecmp(word, mac) == 0)
			return true;
	return false;
}

/* What the line gives the key, with or without blanks around the sign; NULL: another line. */
static const char *value_of_key(const char *line, const char *key)
{
	size_t n = strlen(key);

	if (!str_starts(line, key))
		return NULL;
	line += n + strspn(line + n, " \t");
	return *line == '=' ? line + 1 : NULL;
}

bool networkd_matches(struct arena *a, const char *text, const char *interface, const char *mac)
{
	static const char *const addresses[] = { "MACAddress", "PermanentMACAddress" };
	bool in_match = false, matches = false;

	while (*text) {
		size_t n = strcspn(text, "\n");
		const char *line = unquoted(a, text, n), *list;

		text += n + (text[n] == '\n');
		if (*line == '[')
			in_match = strcmp(line, "[Match]") == 0;
		if (!in_match)
			continue;
		/* All that is asked for has to be so. */
		list = value_of_key(line, "Name");
		if (list) {
			if (!netplan_is_listed(a, list, interface, ""))
				return false;
			matches = true;
		}
		for (size_t i = 0; i < 2; i++) {
			list = value_of_key(line, addresses[i]);
			if (!list)
				continue;
			if (!netplan_is_listed(a, list, NULL, mac))
				return false;
			matches = true;
		}
	}
	return matches;
}
