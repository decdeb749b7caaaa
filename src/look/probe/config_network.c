/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What .link files of udev and .network files of networkd, netplan's among them, set of an
 * interface. The matches become conditions as udev rules have them. NetworkManager's connections
 * hold passwords and are not read.
 */
#include <string.h>

#include "machine/host/merged.h"
#include "look/probe/config.h"

static const struct {
	const char *key, *name; /* of [Link]; of the knob */
} rows[] = {
	{ "MTUBytes", "mtu" },
	{ "RxBufferSize", "rx-ring" },
	{ "TxBufferSize", "tx-ring" },
	{ "CombinedChannels", "channels" },
};

/* "Name=eth* en*" is KERNEL=="eth*|en*". A negated match is only kept as text. */
static void add_match(struct text *when, const char *key, char *value)
{
	bool plain = *value != '!' && !strchr(value, '"');
	const char *as = strcmp(key, "Name") == 0	  ? "KERNEL"
			 : strcmp(key, "MACAddress") == 0 ? "MAC"
							  : NULL;

	text_add(when, when->len ? ", " : "");
	if (!as || !plain) {
		text_printf(when, "not judged (%s=%s)", key, value);
		return;
	}
	for (char *c = value; *c; c++)
		if (*c == ' ')
			*c = '|';
	text_printf(when, "%s==\"%s\"", as, value);
}

/* Of the files that match an interface the first one counts, so that earlier ones rank higher. */
static void add_value(struct config_reader *r, const char *key, const char *value,
		      enum config_layer layer, const char *when)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct assignment *it;

		if (strcmp(key, rows[i].key) != 0)
			continue;
		it = config_add(r, "link", layer, rows[i].name, value);
		if (!it)
			continue;
		if (layer != LAYER_NONE)
			it->rank = (unsigned)layer << 16 | (0xffff - r->n);
		it->when = fact_str_of(arena_strdup(r->p->a, when), "", r->file);
	}
}

static void network_file(struct config_reader *r, const char *path, enum config_layer layer)
{
	struct config_lines l = { .next = config_text(r, path, false), .comment = "#;" };
	const char *section = "";
	TEXT_AUTO when = { 0 };
	char *line;

	while ((line = config_line(r, &l))) {
		char *value = strchr(line, '=');
		size_t n;

		if (*line == '[') {
			line[strcspn(line, "]")] = '\0';
			section = line + 1;
		}
		if (*line == '[' || !value)
			continue;
		*value++ = '\0';
		str_trim(line, strlen(line), &n);
		line[n] = '\0';
		value += strspn(value, " ");
		if (strcmp(section, "Match") == 0)
			add_match(&when, line, value);
		if (strcmp(section, "Link") == 0)
			add_value(r, line, value, layer, when.s ? when.s : "");
	}
}

static bool runs_networkd(const struct machine *m)
{
	const struct service *s = machine_service(m, "systemd-networkd.service");

	return s && fact_or(&s->enabled, 0) + fact_or(&s->active, 0) > 0;
}

void config_network(struct config_reader *r)
{
	static const char *const folders[MERGED_N] = MERGED_FOLDERS("network");
	enum config_layer layer = runs_networkd(r->p->m) ? LAYER_NETWORKD : LAYER_NONE;
	size_t n;
	char **paths = config_files(r, folders, MERGED_N, ".link", &n);

	for (size_t i = 0; i < n; i++)
		network_file(r, paths[i], LAYER_UDEV);
	paths = config_files(r, folders, MERGED_N, ".network", &n);
	for (size_t i = 0; i < n; i++)
		network_file(r, paths[i], layer);
}
