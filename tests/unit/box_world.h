/* SPDX-License-Identifier: Apache-2.0 */
/* A small capture that a test writes file by file, and the machine that probes make of it. */
#ifndef TESTS_BOX_WORLD_H
#define TESTS_BOX_WORLD_H

#include "box.h"

#include "look/probe/probe.h"

struct world {
	struct box box;
	struct arena arena;
	struct machine machine;
	struct host *host; /* NULL until world_open */
	struct probe probe;
};

/* A file of the captured machine. */
static inline void root(struct world *w, const char *path, const char *text)
{
	char at[1024];

	snprintf(at, sizeof(at), "c/root%s", path);
	box_file(&w->box, at, text);
}

static inline void root_link(struct world *w, const char *path, const char *target)
{
	char at[512];

	snprintf(at, sizeof(at), "c/root%s", path);
	box_link(&w->box, at, target);
}

/* What has been written so far is the capture; what it lacks is absent. */
static inline void world_open(struct world *w)
{
	struct err e = { 0 };
	char path[512];

	box_file(&w->box, "c/meta.json", BOX_META("absent"));
	w->host = host_open_capture(box_path(&w->box, "c", path, sizeof(path)), &e);
	assert_non_null(w->host);
	w->probe = (struct probe){ .h = w->host, .a = &w->arena, .m = &w->machine };
}

static inline int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	box_make(&w->box);
	*state = w;
	return 0;
}

static inline int world_teardown(void **state)
{
	struct world *w = *state;

	if (w->host)
		host_close(w->host);
	arena_free(&w->arena);
	box_remove(&w->box);
	free(w);
	return 0;
}

#endif
