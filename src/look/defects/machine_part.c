/* SPDX-License-Identifier: Apache-2.0 */
/* The machine as rows ask for it: from its facts, and from files that are read on demand. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/text.h"
#include "look/defects/world.h"
#include "look/settings/check.h"
#include "machine/host/sqlite.h"
#include "machine/knob/io.h"

/* --- what is read at once ----------------------------------------------------------------------
 */

static void esrt_part(struct seeing *w, json_t *all)
{
	static const char dir[] = "/sys/firmware/efi/esrt/entries";
	struct host *h = w->how->machine;
	ARENA_AUTO scratch = { 0 };
	char **names;
	size_t n;

	if (host_list(h, dir, &scratch, &names, &n))
		n = 0;
	for (size_t i = 0; i < n && i < 64; i++) {
		char guid[64], version[32];

		if (host_read_line(h, arena_printf(&scratch, "%s/%s/fw_class", dir, names[i]), guid,
				   sizeof(guid)) == 0 &&
		    host_read_line(h, arena_printf(&scratch, "%s/%s/fw_version", dir, names[i]),
				   version, sizeof(version)) == 0)
			version_add(all, arena_printf(&scratch, "esrt:%s", guid), version);
	}
}

/* SMBIOS type 45, firmware inventory: the strings of name and version. */
static void smbios_part(struct seeing *w, json_t *all)
{
	static const char dir[] = "/sys/firmware/dmi/entries";
	struct host *h = w->how->machine;
	ARENA_AUTO scratch = { 0 };
	char **names, *raw;
	size_t n, len;

	if (host_list(h, dir, &scratch, &names, &n))
		n = 0;
	for (size_t i = 0; i < n && i < 1024; i++) {
		const char *text[2] = { NULL, NULL };
		size_t at;

		if (!str_starts(names[i], "45-") ||
		    host_read(h, arena_printf(&scratch, "%s/%s/raw", dir, names[i]), 4096, &scratch,
			      &raw, &len) ||
		    len < 8 || (unsigned char)raw[1] >= len)
			continue;
		/* Strings stand behind the structure, counted from 1; raw ends in a NUL. */
		at = (unsigned char)raw[1];
		for (int k = 1; at < len && raw[at]; k++, at += strlen(raw + at) + 1)
			for (int which = 0; which < 2; which++)
				if (raw[4 + which] == k)
					text[which] = raw + at;
		if (text[0] && text[1])
			version_add(all, text[0], text[1]);
	}
}

/* What fwupd installed last on each device, by its history. */
static void fwupd_part(struct seeing *w, json_t *all)
{
	const struct stack_root here = { w->how->machine, -1, true };
	ARENA_AUTO scratch = { 0 };
	struct err ignored = { 0 };
	struct sqlite3_stmt *s = NULL;
	struct input_file f;
	struct sql q;

	if (!w->how->live || stack_open(&here, "/var/lib/fwupd/pending.db", &f, &ignored))
		return;
	if (sql_open(&q, &scratch, arena_printf(&scratch, "/proc/self/fd/%d", f.fd), &ignored) == 0)
		s = sql_ask(&q,
			    "SELECT display_name, version_new FROM history WHERE update_state = 2 "
			    "ORDER BY device_modified DESC LIMIT 256");
	while (s && sql_row(&q, s)) {
		const char *name = sql_text(&q, s, 0), *version = sql_text(&q, s, 1);

		if (name && version && !json_object_get(all, name))
			version_add(all, name, version);
	}
	sql_end(&q, s);
	sql_close(&q);
	input_close(&f);
}

/* What files list; what the machine says itself is newer. */
static void files_part(struct seeing *w, json_t *machine, json_t *all)
{
	json_t *from = json_object(), *one, *v;
	const char *file, *name;

	json_object_foreach(w->how->firmware, file, one)
	{
		json_object_foreach(one, name, v) if (!json_object_get(all, name))
			json_object_set_new(from, name, json_string(file));
		json_object_update_missing(all, one);
	}
	json_object_set_new(machine, "firmware_from", from);
}

/* The value of NAME="..." of a file of such lines; NULL. */
static const char *value_in(struct arena *a, const char *text, const char *name)
{
	const char *v = str_value(a, text, name, '=');

	if (!v && (v = strstr(text, arena_printf(a, "_%s=", name)))) /* IGX_..._VERSION= */
		v = arena_strndup(a, v + strlen(name) + 2, strcspn(v + strlen(name) + 2, "\r\n"));
	return v && *v == '"' ? arena_strndup(a, v + 1, strcspn(v + 1, "\"")) : v;
}

/* "# R36 (release), REVISION: 4.3" */
static const char *l4t_release(struct arena *a, const char *text)
{
	const char *r = strstr(text, "# R"), *minor = strstr(text, "REVISION: ");

	return r && minor ? arena_printf(a, "%.*s.%.*s", (int)strspn(r + 3, "0123456789"), r + 3,
					 (int)strspn(minor + 10, "0123456789."), minor + 10)
			  : NULL;
}

static json_t *releases_part(struct seeing *w)
{
	static const struct {
		const char *file, *key, *name;
	} files[] = { { "/etc/dgx-release", "DGX_SWBUILD_VERSION", "dgx-os" },
		      { "/etc/dgx-release", "DGX_OTA_VERSION", "dgx-ota" },
		      { "/etc/igx-release", "VERSION", "igx" },
		      { "/etc/os-release", "VERSION_ID", NULL },
		      { "/etc/nv_tegra_release", NULL, "jetson" } };
	struct host *h = w->how->machine;
	json_t *all = json_object();

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const char *v, *name = files[i].name;
		char *text;

		if (host_read(h, files[i].file, 65536, w->a, &text, NULL))
			continue;
		v = files[i].key ? value_in(w->a, text, files[i].key) : l4t_release(w->a, text);
		name = name ? name : value_in(w->a, text, "ID");
		if (v && name)
			version_add(all, name, v);
	}
	/* An IGX has a release of its own, known or not. */
	if (fact_is(&w->how->m->platform.kind, "igx-orin") && !json_object_get(all, "igx"))
		json_object_set_new(all, "igx", json_null());
	return all;
}

static json_t *loaded_part(struct seeing *w)
{
	ARENA_AUTO scratch = { 0 };
	char *text, *save = NULL;
	json_t *list;

	if (host_read(w->how->machine, "/proc/modules", HOST_READ_MAX, &scratch, &text, NULL))
		return json_null();
	list = json_array();
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line[strcspn(line, " ")] = '\0';
		json_array_append_new(list, json_string(line));
	}
	return list;
}

static json_t *pci_part(const struct machine *m)
{
	json_t *list = json_array();

	LIST_FOR_EACH (const struct pci_function, f, &m->pci) {
		char id[16];

		if (!seen_ok(&f->vendor.f) || !seen_ok(&f->device.f))
			continue;
		snprintf(id, sizeof(id), "%04llx:%04llx", f->vendor.v & 0xffff,
			 f->device.v & 0xffff);
		json_array_append_new(list, json_string(id));
	}
	return list;
}

json_t *machine_part(struct seeing *w)
{
	json_t *j = machine_facts_part(w->a, w->how->m), *firmware = json_object_get(j, "firmware");

	if (w->how->gpus)
		json_object_set(j, "gpus", (json_t *)(uintptr_t)w->how->gpus);
	esrt_part(w, firmware);
	smbios_part(w, firmware);
	fwupd_part(w, firmware);
	files_part(w, j, firmware);
	json_object_set_new(j, "loaded", loaded_part(w));
	json_object_set_new(j, "releases", releases_part(w));
	json_object_set_new(j, "pci", pci_part(w->how->m));
	return j;
}

/* --- what is read on demand ------------------------------------------------------------------- */

/* The insides of a file of gzip; NULL. */
static char *gunzip(struct arena *a, char *data, size_t len, size_t max)
{
	const size_t size = len < 18 ? SIZE_MAX : le32((unsigned char *)data + len - 4);
	z_stream z = { .next_in = (Bytef *)data, .avail_in = (unsigned)len };
	bool whole;
	char *out;

	if (size > max || inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		return NULL;
	out = arena_alloc(a, size + 1);
	z.next_out = (Bytef *)out;
	z.avail_out = (unsigned)size;
	whole = inflate(&z, Z_FINISH) == Z_STREAM_END;
	inflateEnd(&z);
	return whole ? out : NULL;
}

/* A file as it is, or packed; NULL. */
static char *text_or_packed(struct host *h, struct arena *a, const char *path, size_t max)
{
	char *text;
	size_t len;

	if (host_read(h, path, max, a, &text, &len))
		return NULL;
	return str_ends(path, ".gz") ? gunzip(a, text, len, max) : text;
}

static json_t *config_part(struct seeing *w)
{
	struct host *h = w->how->machine;
	const char *release = fact_text(&w->how->m->kernel.release, "");
	ARENA_AUTO scratch = { 0 };
	const char *paths[] = { arena_printf(&scratch, "/boot/config-%s", release),
				arena_printf(&scratch, "/lib/modules/%s/config", release),
				"/proc/config.gz" };
	json_t *all = json_null();
	char *text = NULL, *save = NULL;
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]) && !text; i++)
		text = text_or_packed(h, &scratch, paths[i], 4 << 20);
	if (text) {
		all = json_pack("{s:s}", "from", paths[i - 1]);
		for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
			char *equals = strchr(l, '=');

			if (!str_starts(l, "CONFIG_") || !equals)
				continue;
			*equals++ = '\0';
			if (*equals == '"') {
				equals++;
				equals[strcspn(equals, "\"")] = '\0';
			}
			json_object_set_new(all, l, json_string(equals));
		}
	}
	return all;
}

/* Whether a line of the kernel's changelog has "LP: #NUMBER" or "#NUMBER" in it. */
static json_t *fix_part(struct seeing *w, const char *number)
{
	static const char *const docs[] = { "linux-image-", "linux-image-unsigned-",
					    "linux-modules-", "linux-headers-" };
	const char *release = fact_text(&w->how->m->kernel.release, "");
	ARENA_AUTO scratch = { 0 };
	json_t *v = NULL;

	for (size_t i = 0; i < sizeof(docs) / sizeof(docs[0]) && !v; i++) {
		char *text = text_or_packed(w->how->machine, &scratch,
					    arena_printf(&scratch,
							 "/usr/share/doc/%s%s/changelog.Debian.gz",
							 docs[i], release),
					    32 << 20);
		const char *mark = arena_printf(&scratch, "#%s", number), *at = text;
		bool found = false;

		for (; text && !found && (at = strstr(at, mark)); at += strlen(mark))
			found = !isdigit((unsigned char)at[strlen(mark)]);
		v = text ? json_boolean(found) : NULL;
	}
	return v ? v : json_null();
}

/* A part of the path of a fact: "interfaces[*]" walks a list. */
static json_t *fact_at(json_t *j, const char *path)
{
	while (j && *path) {
		size_t n = strcspn(path, ".");
		char key[128];
		bool each;

		if (n >= sizeof(key))
			return NULL;
		memcpy(key, path, n);
		key[n] = '\0';
		each = str_ends(key, "[*]");
		if (each)
			key[n - 3] = '\0';
		path += n + (path[n] == '.');
		j = json_object_get(j, key);
		if (each) {
			json_t *list = json_array(), *one, *v;
			size_t i;

			json_array_foreach(j, i, one) if ((v = fact_at(one, path)))
				json_array_append_new(list, v);
			return list;
		}
	}
	/* {"value": 1, "from": "..."} */
	if (json_is_object(j) && json_object_get(j, "value"))
		j = json_object_get(j, "value");
	return json_incref(j);
}

static json_t *fact_part(struct seeing *w, const char *path)
{
	const size_t len = strcspn(path, ".[");
	struct shape part = machine_shape; /* all facts of a large machine take 10 MB */
	json_auto_t *facts = json_object(), *v = NULL;

	for (size_t i = 0; i < machine_shape.n; i++) {
		part.rows = &machine_shape.rows[i];
		part.n = 1;
		if (strncmp(part.rows->key, path, len) == 0 && !part.rows->key[len])
			shape_json(facts, &part, w->how->m);
	}
	v = fact_at(facts, path);
	return v && !json_is_object(v) ? json_incref(v) : json_null();
}

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

static json_t *setting_part(struct seeing *w, const char *id)
{
	static const char *const names[] = { "pass", "fail", "na", "unknown" };
	enum verdict_kind worst = VERDICT_UNKNOWN;
	bool any = false;

	if (!w->findings) {
		struct findings *f = ARENA_NEW(w->a, struct findings);
		struct profile p = { .name = profile_name(PROFILE_DEFAULT),
				     .base = PROFILE_DEFAULT };

		settings_check(w->a, w->how->m, &p, read_knob, w->how->machine, f);
		w->findings = f;
	}
	for (size_t i = 0; i < w->findings->n; i++)
		if (strcmp(w->findings->items[i].s->id, id) == 0) {
			enum verdict_kind k = w->findings->items[i].v.kind;

			if (!any || k == VERDICT_FAIL)
				worst = k;
			any = true;
		}
	return any ? json_string(names[worst]) : json_null();
}

/* How many lines of this boot's log hold the longest literal part of the pattern. */
static json_t *log_part(struct seeing *w, const char *pattern)
{
	struct answer said;

	if (host_ask(w->how->machine, "kernel-log", "",
		     arena_printf(w->a, "lines(%s)", defect_literal(w->a, pattern)), &said) ||
	    said.kind != ANSWER_INT)
		return json_null();
	return json_integer(said.i);
}

void machine_fill(struct defect_world *dw, const char *key, const char *name)
{
	struct seeing *w = dw->ctx;
	json_t *all = json_object_get(dw->machine, key), *v;
	bool by_name = strcmp(key, "fixes") == 0 || strcmp(key, "facts") == 0 ||
		       strcmp(key, "settings") == 0 || strcmp(key, "log") == 0;

	if (!by_name || !name) {
		v = strcmp(key, "config") == 0 ? config_part(w) : json_null();
		if (!all)
			json_object_set_new(dw->machine, key, v);
		return;
	}
	if (!all) {
		all = json_object();
		json_object_set_new(dw->machine, key, all);
	}
	v = key[0] == 'l'   ? log_part(w, name)
	    : key[0] == 's' ? setting_part(w, name)
	    : key[1] == 'a' ? fact_part(w, name)
			    : fix_part(w, name);
	json_object_set_new(all, name, v);
}
