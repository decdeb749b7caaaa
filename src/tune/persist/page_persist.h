/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept for the next boot: persist's pages and JSON. */
#ifndef PERSIST_PAGE_PERSIST_H
#define PERSIST_PAGE_PERSIST_H

#include "tune/persist/persist.h"
#include "tune/txn/txn.h"
#include "render/doc.h"

enum persist_file_state {
	PERSIST_FILE_SAME,    /* as gputune writes it */
	PERSIST_FILE_NEW,     /* to be made */
	PERSIST_FILE_CHANGED, /* ours, to be replaced */
	PERSIST_FILE_MISSING, /* was made, and is not there any more */
	PERSIST_FILE_FOREIGN, /* somebody else's by now */
	PERSIST_FILE_UNSEEN,
};

struct persist_view_file {
	const char *path;
	enum persist_file_state state;
	const char *sentence; /* NULL */
	const char *diff;     /* NULL: none */
};

struct persist_view {
	const char *action;		  /* "install", "status", "diff", "remove" */
	bool dry;			  /* install, remove: nothing is written */
	const struct persist_entry *rows; /* kept or refused */
	size_t n;
	struct persist_entry *skipped; /* not looked at: refusal says why */
	size_t n_skipped;
	struct persist_view_file *files;
	size_t n_files;
	const char **notes;
	size_t n_notes;
	struct persist_entry
		*in_effect; /* remove: set by the files at this boot, and not taken back */
	size_t n_in_effect;
	/* Ids of applied changes that nothing keeps, by commas; "": none; NULL: unknown, or of
	 * install and diff: certain settings were asked for. */
	const char *unkept;
	size_t n_unkept;
	struct txn_report now; /* remove: of such values, what became of those taken back */
};

struct doc *page_persist(struct arena *a, const struct machine *m, const struct persist_view *v);
/* What remove did with the files; result is what txn_undo returned of them. */
struct doc *page_persist_removed(struct arena *a, const struct machine *m,
				 const struct persist_view *v, const struct txn_report *r,
				 int result);
/* What a result has of it: persist_result. */
struct persist_answer {
	const struct persist_view *v;
	unsigned long transaction; /* 0: none */
	const char *error, *hint;  /* NULL: none */
	struct outcome_row *outcomes;
	size_t n_outcomes;
	const char **notes;
	size_t n_notes;
};
/* e without text: no error. */
struct persist_answer persist_answer_of(struct arena *a, const struct persist_view *v,
					const struct txn_report *r, const struct err *e);
extern const struct result_shape persist_result;

#endif
