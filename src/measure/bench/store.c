/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of results, through the host interface. */
#include "measure/bench/store.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "machine/write/write.h"

bool store_id_valid(const char *id)
{
	size_t n = strlen(id);

	if (!n || n > 128 || id[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)id[i]) && !strchr("-_.", id[i]))
			return false;
	return true;
}

const char *store_path(struct arena *a, const char *state, const char *id)
{
	return arena_printf(a, "%s/bench/%s.json", state, id);
}

const char *store_new_id(struct arena *a, struct host *h, const char *state, long long time_s,
			 const char *what)
{
	time_t t = (time_t)time_s;
	struct tm tm = { 0 };
	char when[32];
	const char *id;

	gmtime_r(&t, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	id = arena_printf(a, "%s-%s", when, what);
	for (unsigned i = 2; i < 1000 && host_exists(h, store_path(a, state, id)); i++)
		id = arena_printf(a, "%s-%s-%u", when, what, i);
	return id;
}

static int make_folder(struct host *h, const char *path, struct err *e)
{
	int r = host_own_dir(h, path);

	return r ? err_set(e, r, "%s cannot be made: %s", path, strerror(-r)) : 0;
}

int store_put(struct host *h, const char *state, const char *id, const char *json, struct err *e)
{
	struct arena a = { 0 };
	const char *path = store_path(&a, state, id);
	int r = make_folder(h, state, e);

	if (r == 0)
		r = make_folder(h, arena_printf(&a, "%s/bench", state), e);
	if (r == 0) {
		r = host_put(h, path, json, strlen(json), 0600);
		if (r)
			err_set(e, r, "%s cannot be written: %s", path, strerror(-r));
	}
	if (r == -EACCES || r == -EPERM || r == -EROFS)
		err_hint(e, "--state DIR keeps results elsewhere, --json FILE in a file");
	arena_free(&a);
	return r;
}

int store_get(struct arena *a, struct host *h, const char *state, const char *id, char **json,
	      struct err *e)
{
	const char *path = store_path(a, state, id);
	int r;

	if (!store_id_valid(id))
		return err_set(e, -EINVAL, "\"%s\" is no id of a result", id);
	r = host_read(h, path, BENCH_FILE_MAX, a, json, NULL);
	if (r)
		err_set(e, r, "%s cannot be read: %s", path, strerror(-r));
	if (r == -ENOENT)
		err_hint(e, "\"gputune bench list\" lists what is kept");
	return r;
}

int store_list(struct arena *a, struct host *h, const char *state, char ***ids, size_t *n,
	       struct err *e)
{
	const char *path = arena_printf(a, "%s/bench", state);
	char **names;
	size_t found = 0;
	int r = host_list(h, path, a, &names, &found);

	*n = 0;
	if (r == -ENOENT)
		return 0;
	if (r)
		return err_set(e, r, "%s cannot be read: %s", path, strerror(-r));
	*ids = arena_array(a, found, sizeof(**ids));
	for (size_t i = 0; i < found; i++) {
		char *id;

		if (!str_ends(names[i], ".json"))
			continue;
		id = arena_strndup(a, names[i], strlen(names[i]) - 5);
		if (store_id_valid(id))
			(*ids)[(*n)++] = id;
	}
	return 0;
}
