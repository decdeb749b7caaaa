/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of many machines as people and launchers bring them: a folder of files, files with one
 * document after the other, and lines with a node's name before them (pdsh, clush, "ansible
 * --one-line", srun --label, kubectl logs --prefix). What is torn takes nothing else with it: each
 * text is refused once, with the first reason and how many more there were.
 */
#ifndef READ_READ_H
#define READ_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* Where a document comes from. */
struct read_from {
	const char *file; /* its path, or the node or line of standard input */
	const char *name; /* of its machine, where it has none itself; NULL: unknown */
	bool sent;	  /* the machine of that name sent it */
};

struct read_ask {
	const char *name; /* of machines without one; NULL: none */
	bool by_file;	  /* or it is the file's: "node7" of "/results/node7.json" */
	size_t most;	  /* bytes of one text */
	/*
	 * One document, which begins at *at: moved behind it. -EINVAL and *e: it is not taken;
	 * where *at was not moved the next one is looked for in the lines below.
	 */
	int (*document)(void *ctx, const struct read_from *from, const char **at, const char *end,
			struct err *e);
	void (*refuse)(void *owner, const char *file, const char *why);
	/* True: what stands at this path (of a folder, or named) was taken as a whole. NULL: none.
	 */
	bool (*path)(void *owner, const char *path, bool folder, bool named);
	/* True: this text was taken as a whole, or refused. NULL: none is. */
	bool (*text)(void *ctx, const struct read_from *from, const char *text, size_t len);
	void *ctx;    /* of document and text */
	size_t texts; /* that were read */
	void *owner;  /* of refuse and path */
	bool stop;    /* set by any of them: nothing more is read */
	/* Of all that is read: where the current path begins, and its part. */
	double at, part;
};

/* name NULL: as read_ask says. */
void read_text(struct read_ask *ask, const char *file, const char *name, const char *text,
	       size_t len);
/* A file, a folder (what is called .json or .jsonl, 8 deep, no links), or "-": standard input. */
void read_path(struct read_ask *ask, const char *path);
/*
 * The node's name before a line's document, "" for a line without one; rest: what follows it.
 * False: no document begins in it. Pure.
 */
bool read_line(struct arena *a, const char *line, size_t len, const char **name, const char **rest);
/*
 * What a document calls its machine, or who sent it. -EINVAL and *e: it has no name, or it claims
 * to be another machine's than the one that sent it. Pure.
 */
const char *read_machine(const json_t *document, const struct read_from *from, struct err *e);

/* NULL: it has no such text. */
static inline const char *read_string(const json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key));
}

/*
 * What of a result is compared, as items of its list. In the place of the facts of show, "rows" of
 * those that name what is built in and installed: id, target, state; others are readings, which
 * differ between any two looks. own: also what no other machine has (serial numbers). The verdict
 * of diagnose hang is one more of its processes, "job"; its host is who sent it. Other results stay
 * as they are.
 */
void read_items(struct arena *a, json_t *document, bool own);

/* A measured median of a result of bench. */
struct read_figure {
	const char *bench, *name, *key; /* "copy", "h2d", "rate" */
	const char *unit, *unit_text;	/* unit_text NULL: as unit */
	bool lower;			/* is better */
	unsigned version;		/* of its method */
	double median;
};
/* All of a result, or none where any of them makes no sense: -EINVAL and *e. figure NULL: it is
 * only looked at. */
int read_figures(struct arena *a, const json_t *document,
		 void (*figure)(void *ctx, const struct read_figure *f), void *ctx, struct err *e);

#endif
