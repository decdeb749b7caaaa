/* SPDX-License-Identifier: Apache-2.0 */
/* Data packages: parsed, and found where they are kept. */
#include "knowledge/package.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "knowledge/gpus.h"
#include "knowledge/models.h"
#include "machine/host/host.h"

#define FORMAT "gputune-data/1"

const char package_key[] = DATA_KEY;

enum { NAME_MAX_HERE = 64 };

/* Tables of a package, as files of a folder have them. */
static const struct row_table *const tables[] = { &model_table, &gpu_table };

static bool date_whole(const char *s)
{
	return s && strlen(s) == 10 && package_age_days(s, 0) >= 0;
}

/* baseline.json, defects/WORD.json: no other folder, and nothing that leads out of it. */
static bool list_named(const char *name)
{
	static const char folder[] = "defects/";
	size_t n = strlen(name);
	const char *word = name + strlen(folder);

	if (strcmp(name, "baseline.json") == 0)
		return true;
	if (n > NAME_MAX_HERE || !str_starts(name, folder) || !str_ends(name, ".json"))
		return false;
	return strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-") ==
		       n - strlen(folder) - strlen(".json") &&
	       n > strlen(folder) + strlen(".json");
}

static const struct row_table *table_named(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		size_t n = strlen(tables[i]->name);

		if (strncmp(name, tables[i]->name, n) == 0 && strcmp(name + n, ".rows") == 0)
			return tables[i];
	}
	return NULL;
}

static int file_check(struct arena *a, const char *name, const json_t *v, struct err *e)
{
	const struct row_table *t = table_named(name);
	struct row_list rows;

	if (t && json_is_string(v))
		return rows_read(a, t, json_string_value(v), json_string_length(v), name, &rows, e);
	if (list_named(name) && json_is_array(v))
		return 0;
	if (t || list_named(name))
		return err_set(e, -EINVAL, "%s has an unexpected JSON type", name);
	return err_set(e, -EINVAL, "unknown file \"%.*s\": the package may be for a newer gputune",
		       NAME_MAX_HERE, name);
}

static int package_members(struct arena *a, struct data_package *p, struct err *e)
{
	json_t *serial = json_object_get(p->all, "serial"), *v;
	const char *format = json_string_value(json_object_get(p->all, "format")), *name;
	int code;

	if (!format || strcmp(format, FORMAT) != 0)
		return err_set(e, -EINVAL, "newer, or no data package: its format is not " FORMAT);
	p->date = json_string_value(json_object_get(p->all, "date"));
	p->serial = json_integer_value(serial);
	p->files = json_object_get(p->all, "files");
	if (!date_whole(p->date) || p->serial < 1 || !json_is_object(p->files) ||
	    json_object_size(p->all) != 4)
		return err_set(e, -EINVAL, "date, serial or files are missing or invalid");
	if (!json_object_size(p->files))
		return err_set(e, -EINVAL, "the package has no files");
	json_object_foreach((json_t *)(uintptr_t)p->files, name, v)
	{
		if ((code = file_check(a, name, v, e)) != 0)
			return code;
	}
	return 0;
}

int package_open(struct arena *a, const char *text, size_t len, struct data_package *out,
		 struct err *e)
{
	json_error_t why;
	int code;

	*out = (struct data_package){ .text = text, .len = len };
	if (len > PACKAGE_BYTES_MAX)
		return err_set(e, -EFBIG, "larger than %d MiB", PACKAGE_BYTES_MAX >> 20);
	out->all = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!out->all)
		return err_set(e, -EINVAL, "line %d: %s", why.line, why.text);
	code = package_members(a, out, e);
	if (code)
		package_close(out);
	return code;
}

void package_close(struct data_package *p)
{
	json_decref(p ? p->all : NULL);
	if (p)
		p->all = NULL;
}

int package_stored(struct arena *a, struct host *h, const char *path, struct data_package *out,
		   struct err *e)
{
	char *text, *begin;
	size_t len;
	int code = host_read(h, path, PACKAGE_BYTES_MAX + 8192, a, &text, &len);

	*out = (struct data_package){ 0 };
	if (code == -ENOENT || code == -ENOTDIR || code == HOST_NOT_CAPTURED)
		return -ENOENT;
	if (code)
		return err_set(e, code, "%s: %s", path, strerror(-code));
	begin = strstr(text, "\n{");
	if (!begin)
		return err_set(e, -EINVAL, "%s: not a data package", path);
	code = package_open(a, begin + 1, len - (size_t)(begin + 1 - text), out, e);
	if (code)
		return err_set(e, code, "%s: %s", path, arena_strdup(a, e->text));
	out->signature = arena_strndup(a, text, (size_t)(begin + 1 - text));
	out->path = path;
	return 0;
}

const char *knowledge_home(struct arena *a, struct host *h, const char *variable, const char *usual,
			   const char *below)
{
	const char *const names[] = { variable, "HOME" };
	struct answer v;

	for (size_t i = 0; i < 2; i++)
		if (host_ask(h, "env", "", names[i], &v) == 0 && v.kind == ANSWER_TEXT &&
		    v.text[0] == '/')
			return arena_printf(a, "%s%s/%s", v.text, i ? usual : "", below);
	return NULL;
}

const char *package_folder(struct arena *a, struct host *h)
{
	return knowledge_home(a, h, "XDG_DATA_HOME", "/.local/share", "gputune");
}

int package_read(struct arena *a, struct host *h, struct data_package *out, struct err *e)
{
	const char *const folders[] = { PACKAGE_MACHINE, geteuid() ? package_folder(a, h) : NULL };
	struct data_package one;
	int found = -ENOENT;

	*out = (struct data_package){ 0 };
	for (size_t i = 0; i < 2; i++) {
		int code;

		if (!folders[i])
			continue;
		code = package_stored(a, h, arena_printf(a, "%s/" PACKAGE_NAME, folders[i]), &one,
				      e);
		if (!code && strcmp(one.date, package_floor) < 0)
			code = err_set(e, -ESTALE, "%s of %s is older than this build's data of %s",
				       one.path, one.date, package_floor);
		if (code && found == -ENOENT)
			found = code;
		if (!code && (found || one.serial > out->serial)) {
			package_close(out);
			*out = one;
			found = 0;
		} else {
			package_close(&one);
		}
	}
	return found;
}

int package_age_days(const char *date, long long now)
{
	char text[STAMP_SIZE] = "0000-01-01T00:00:00Z";
	size_t n = date ? strlen(date) : 0;
	long long at;

	if (n != 4 && n != 7 && n != 10)
		return -1;
	memcpy(text, date, n);
	if (stamp_parse(text, &at))
		return -1;
	return now > at ? (int)((now - at) / 86400) : 0;
}
