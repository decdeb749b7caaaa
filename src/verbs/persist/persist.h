/* SPDX-License-Identifier: Apache-2.0 */
/* What persist, verify --boot and apply --boot share. */
#ifndef VERBS_PERSIST_H
#define VERBS_PERSIST_H

#include "tune/persist/persist.h"
#include "tune/txn/txn.h"
#include "tune/persist/page_persist.h"
#include "verbs/change.h"

/* Each sub-verb has rows of its own for some of it. */
struct persist_ask {
	struct machine_ask machine;
	struct profile_ask settings;
	struct only_ask only; /* of remove */
	struct allow_ask allow;
	struct change_ask change;
	bool now, update_grub, force;
};

#define PERSIST_LEFT_OUT "unknown which values are kept: " PERSIST_REQUEST " is not in the capture"

struct persisting {
	struct door *d;
	const struct persist_ask *ask;
	struct host *h;
	struct machine *m;
	struct journal journal;
	struct persist_target wish;
	struct persist p;
	struct persist_view view;
	struct plan plan;		  /* the writes that make the files so */
	const struct persist_entry *gone; /* remove: the rows that --only names; NULL: all */
	size_t n_gone;
	bool writes; /* it changes the machine: neither diff or status nor a dry run */
};

/* What the sub-verbs answer. */
struct persist_verb_answer {
	struct persist_answer result;
	struct persisting s;
	struct txn_report report; /* install, remove: what was written */
	struct err error;
	bool removed; /* report is that of a removal */
	int files;    /* remove: what txn_undo returned of the files */
};

/* --- persist.c -------------------------------------------------------------------------------- */

/* What is kept and the state of its files, into s->view; *differ counts what is not as it was left.
 * 0, or as answers. */
int persist_review(struct persisting *s, size_t *differ);

/* --- remove.c --------------------------------------------------------------------------------- */

/* All of it, or what --only names. */
int persist_remove(struct persist_verb_answer *out);

/* --- rows.c ---------------------------------------------------------------------------------- */

/* The rows of the request that is installed: 0 rows when there is none. 0, or as answers. */
int persist_installed(struct door *d, struct host *h, struct persist_entry **rows, size_t *n);
/* Fills the target: what is kept already, and what the options or the journal ask for besides. 0,
 * or as answers. */
int persist_collect(struct persisting *s);
/* Fills the target with these rows of the request alone, and loads the journal. */
int persist_collect_of(struct persisting *s, struct persist_entry *rows, size_t n);
/* Others' files that say how links and the boot menu are configured. */
void persist_read_sources(struct persisting *s);
/* Everything that the machine keeps at boot: fills kept and loses of the rows. False: a capture
 * lacks it, which was said. */
bool persist_fill_entries(struct door *d, struct host *h, struct hold_row *rows, size_t n);
/* What is applied and goes with the next boot, into s->view; not what its in_effect has. */
void persist_find_unkept(struct persisting *s);
/* Adds a setting to "cpu.governor, net.rmem-max", unless it is the last of them. */
void persist_add_id(struct text *ids, const char *id);
/* What the installed request keeps; 0 rows where there is none or it is unreadable. */
size_t persist_request_rows(struct door *d, struct host *h, struct persist_entry **rows);

/* --- files.c --------------------------------------------------------------------------------- */

/* What the files would be; the target is there. 0, or as answers. */
int persist_make_files(struct persisting *s);
/* s->p is what is shown. */
void persist_fill_view(struct persisting *s);
/* The plan is of use only while the knob holds this. */
void persist_stays(struct persisting *s, const struct knob *k, const char *value);
/* Compares every file with the machine and the journal: fills view.files and, where nothing stands
 * against it, plan. Returns how many are somebody else's. */
size_t persist_compare(struct persisting *s, bool force);
/* The files that the journal holds as ours, with their state: fills view.files. Returns how many
 * are not as they were written. */
size_t persist_look(struct persisting *s);
/* Notes an installation or removal that was interrupted, with the files of it that lie there.
 * Returns how many were. */
size_t persist_note_open(struct persisting *s);
/* After persist_look: what stands in a file that is not as it was written is not said to be in
 * force. Returns how many rows are so. */
size_t persist_doubt_rows(struct persisting *s);
/* The settings that files set at the next boot, without arguments that undone takes
 * out: "cpu.governor, net.rmem-max"; NULL: none that can be read. */
const char *persist_setting_ids(struct door *d, struct host *h, const struct txn_report *undone);

/* --- what stays ------------------------------------------------------------------------------- */

/* A file beside path that holds the text of value: it was moved or copied there. NULL: none. */
const char *persist_copy_of(struct persisting *s, const char *path, const char *value);

/* --- programs --------------------------------------------------------------------------------- */

/* Lets systemd and udev know; says what could not be done. Does nothing on a captured machine. */
void persist_reload(struct persisting *s);
/* Runs update-grub or kernel-install, and looks whether the arguments are in the boot entries. 0,
 * or the exit code of what was said. */
int persist_update_boot(struct persisting *s);
/* A program by its vector: its exit status, or -errno; *said is what it complained about. */
int persist_run_program(struct arena *a, char *const *argv, int limit_ms, const char **said);

#endif
