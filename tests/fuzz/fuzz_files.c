/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a file that a user names or that stands in /etc: a profile, watch.conf, boot.json, a
 * recording, an SQLite export, an earlier result, a wheelhouse's manifest, a task's arguments. The
 * first byte says which. Refused with a sentence, or what was read is sound.
 */
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "front/verbs/ansible.h"
#include "fuzz_captured.h"
#include "fuzz_file.h"
#include "fuzz_host.h"
#include "fuzz_plain.h"
#include "machine/knob/knob.h"
#include "machine/model/machine.h"
#include "look/monitor/contrast.h"
#include "look/monitor/recording.h"
#include "tune/persist/persist.h"
#include "models/inference/roofline.h"
#include "look/settings/site.h"
#include "look/stack/wheelhouse.h"
#include "tune/watch/policy.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void refused(const struct err *e)
{
	if (!*e->text)
		abort();
}

static void profile(struct arena *a, const char *path)
{
	struct profile p = { 0 };
	struct err e = { 0 };

	if (profile_load(a, path, &p, &e)) {
		refused(&e);
		return;
	}
	for (size_t i = 0; i < p.n_overrides; i++)
		if (!p.overrides[i].s)
			abort();
	SETTING_FOR_EACH (s)
		profile_selects(&p, s->id);
}

static void policy(struct arena *a, const unsigned char *data, size_t n)
{
	static struct fuzz_host h;
	enum reaction reaction;
	struct policy p;
	struct site site;
	struct err e = { 0 };
	/* Files of an odd length are the site's. */
	char *text = arena_printf(a, "@@%s\n", n % 2 ? SITE_POLICY : WATCH_CONF);
	size_t head = strlen(text);
	int limit = 0;

	if (!h.base)
		fuzz_host_open(&h, "nothing");
	text = memcpy(arena_alloc(a, head + n), text, head);
	memcpy(text + head, data, n);
	fuzz_host_say(&h, (unsigned char *)text, head + n);
	policy_default(&p);
	if (policy_load(&h.host, a, WATCH_CONF, &p, &e)) {
		refused(&e);
		return;
	}
	if (p.limit < 0 || p.limit > POLICY_LIMIT_MAX || p.interval_ms <= 0 ||
	    p.max_interval_ms <= 0)
		abort();
	if (site_load(&h.host, a, &site, &e))
		abort();
	SETTING_FOR_EACH (s)
		site_forbids(a, &site, true, "default", s);
	site_lets_user(&site, "nobody");
	policy_of(&p, "cpu.governor", &reaction, &limit);
	if (limit < 0 || limit > POLICY_LIMIT_MAX || reaction > REACT_BACK_OFF)
		abort();
}

/* Files for the next boot: each where such files lie, a line what a line of ours can be. */
static void next_boot(struct arena *a, const struct persist_entry *rows, size_t n)
{
	struct persist_target wish = { .rows = rows, .n = n, .program = "/usr/bin/gputune" };
	struct persist p = { 0 };

	persist_make(a, fuzz_captured(), &wish, &p);
	if (p.n != n)
		abort();
	for (size_t i = 0; i < p.n; i++)
		if (p.rows[i].keeper >= KEEPERS ||
		    (p.rows[i].keeper == PERSIST_IN_NONE) != !!p.rows[i].refusal)
			abort();
	for (size_t i = 0; i < p.n_files; i++) {
		if (strncmp(p.files[i].path, "/etc/", 5) != 0 || strstr(p.files[i].path, "/../"))
			abort();
		fuzz_plain(p.files[i].text, strlen(p.files[i].text), "\n\t");
	}
}

static void boot(struct arena *a, const char *text, size_t n)
{
	struct persist_entry *rows, *again;
	const char *why, *out;
	struct err e = { 0 };
	size_t k, m;

	if (persist_request_read(a, text, n, &rows, &k, &e)) {
		refused(&e);
		return;
	}
	for (size_t i = 0; i < k; i++)
		if (rows[i].knob.kind != KNOB_NONE &&
		    !knob_valid(&rows[i].knob, rows[i].value, &why))
			abort();
	next_boot(a, rows, k);
	out = persist_request(a, rows, k);
	if (persist_request_read(a, out, strlen(out), &again, &m, &e) || m != k)
		abort();
}

static bool row(void *ctx, int64_t ms, const double *values)
{
	const struct recording *r = ctx;

	if (ms < 0)
		abort();
	for (size_t i = 0; i < r->mon.n; i++)
		if (isinf(values[i]))
			abort();
	return true;
}

/* With itself: whatever it holds, no mean is another one. */
static void itself(struct arena *a, const char *path)
{
	struct contrast *c = ARENA_NEW(a, struct contrast);
	struct err e = { 0 };

	if (contrast_read(a, path, path, c, &e))
		abort();
	if (c->count[CONTRAST_HIGHER] || c->count[CONTRAST_LOWER] || c->n > c->a.rec.mon.n)
		abort();
}

static void recording(struct arena *a, const char *path)
{
	struct recording *r = ARENA_NEW(a, struct recording);
	struct err e = { 0 };

	if (recording_read(a, path, r, row, r, &e)) {
		refused(&e);
		return;
	}
	if (r->mon.n > MONITOR_COLUMNS_MAX || !r->mon.machine.name)
		abort();
	itself(a, path);
}

/* The same bytes packed: what is inside of a sound frame. */
static void packed_recording(struct arena *a, const void *data, size_t n)
{
	size_t cap = ZSTD_compressBound(n);
	void *out = malloc(cap ? cap : 1);
	size_t k = out ? ZSTD_compress(out, cap, data, n, 1) : 0;
	char path[FUZZ_PATH];
	int fd;

	if (!out || ZSTD_isError(k))
		abort();
	fd = fuzz_memory_file("fuzz", out, k, path);
	recording(a, path);
	close(fd);
	free(out);
}

static void sqlite(struct arena *a, const char *path)
{
	struct roof_profile p = { 0 };
	struct err e = { 0 };

	if (roof_read_sqlite(a, path, &p, &e)) {
		refused(&e);
		return;
	}
	for (size_t i = 0; i < p.n; i++)
		if (!p.points[i].name || !isfinite(p.points[i].time_ms) || p.points[i].time_ms < 0)
			abort();
}

static void result(struct arena *a, const char *text, size_t n)
{
	json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	struct machine *m = ARENA_NEW(a, struct machine), *back = ARENA_NEW(a, struct machine);
	struct err e = { 0 };

	if (j && shape_read(a, &machine_shape, j, m, &e) == 0) {
		json_t *once = shape_object_json(&machine_shape, m), *twice;

		if (shape_read(a, &machine_shape, once, back, &e))
			abort();
		twice = shape_object_json(&machine_shape, back);
		if (!json_equal(once, twice))
			abort();
		json_decref(once);
		json_decref(twice);
	} else if (j) {
		refused(&e);
	}
	json_decref(j);
}

/* One folder a process, below the fastest place there is. */
static void manifest(struct arena *a, const void *data, size_t n)
{
	static char dir[64];
	struct wheelhouse h = { 0 };
	struct err e = { 0 };
	char path[128];
	int fd;

	if (!*dir) {
		snprintf(dir, sizeof(dir), "/dev/shm/gputune-fuzz-%d", (int)getpid());
		if (mkdir(dir, 0700))
			abort();
	}
	snprintf(path, sizeof(path), "%s/%s", dir, WHEELHOUSE_MANIFEST);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	close(fd);
	if (wheelhouse_open(a, dir, false, &h, &e)) {
		refused(&e);
	} else {
		for (size_t i = 0; i < h.n; i++)
			if (!h.wheels[i].file || strchr(h.wheels[i].file, '/'))
				abort();
		wheelhouse_verify(a, &h, NULL, &e);
		wheelhouse_close(&h);
	}
	/* Nothing stays, whenever the process ends. */
	unlink(path);
	rmdir(dir);
	*dir = '\0';
}

static void task(struct arena *a, const char *path)
{
	struct module_args m = { 0 };
	struct err e = { 0 };

	void *ask;

	if (module_args_read(a, path, &m, &e))
		refused(&e);
	else if (m.state >= MODULE_STATES || module_ask(a, &m, true, &ask, &e))
		abort();
	module_args_free(&m);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	char path[FUZZ_PATH], *text;
	int fd;

	if (!size)
		return 0;
	/* Of its own size: a byte too far is seen. */
	text = malloc(size);
	if (!text)
		abort();
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	fd = *data == 'S' ? fuzz_named_file(text, size - 1, path)
			  : fuzz_memory_file("fuzz", text, size - 1, path);
	switch (*data) {
	case 'p':
		profile(&a, path);
		break;
	case 'w':
		policy(&a, data + 1, size - 1);
		break;
	case 'b':
		boot(&a, text, size - 1);
		break;
	case 'r':
		packed_recording(&a, text, size - 1);
		break;
	case 'R':
		recording(&a, path);
		break;
	case 'S':
		sqlite(&a, path);
		break;
	case 's':
		result(&a, text, size - 1);
		break;
	case 'm':
		manifest(&a, text, size - 1);
		break;
	case 't':
		task(&a, path);
		break;
	default:
		break;
	}
	close(fd);
	if (*data == 'S')
		unlink(path);
	free(text);
	arena_free(&a);
	return 0;
}
