/* SPDX-License-Identifier: Apache-2.0 */
/* What answers are made through, and the parts of a question that verbs share. */
#ifndef VERBS_DOOR_H
#define VERBS_DOOR_H

#include "base/ask.h"
#include "look/settings/check.h"
#include "machine/host/host.h"
#include "machine/model/machine.h"
#include "measure/prove/ledger.h"
#include "verbs/verb.h"

struct doc;

/* What an answer is made through: who asks, and what it may use. Nothing is printed. */
struct door {
	struct arena *arena; /* answers live here */
	/* Opens the machine that this process may look at; host_close it. */
	struct host *(*live)(void *ctx);
	/* A sentence for who asks: why there is no answer (code: an exit code), or what it lacks
	 * (0). */
	void (*say)(void *ctx, int code, const struct err *e);
	/* Shows what is to be done (NULL: nothing) and asks: 0, or as answers. NULL: nobody can be
	 * asked. change.h: door_agreed. */
	int (*agree)(void *ctx, const struct doc *shown, const char *question);
	/* Until clock_mono_ms() is that: 0, or 1 when who asks wants it to end before; below 0 as
	 * answers. NULL: nobody can say so. door_wait. */
	int (*wait)(void *ctx, long long end_ms);
	/* A line about what is under way, drawn over the one before; NULL: nobody sees it. */
	void (*progress)(void *ctx, const char *line);
	long long progress_ms; /* when it was last called */
	/* A line that stays; from any thread. NULL: nobody listens. */
	void (*note)(void *ctx, const char *line);
	void *ctx;
	const char *file; /* the file of -o, where the verb makes one this time; NULL: none */
	bool to_file;	  /* the result is written to a file that was named */
	const struct knowledge *known;	    /* NULL: not read yet; knowledge.h */
	const struct approval_asker *asker; /* whose request it is; NULL: this process's */
	bool agent;			    /* it asks through gputune mcp */
	bool agreed;	 /* whoever asks has agreed to what will be done (--yes) */
	bool may_change; /* whoever asks has said that it may change the machine */
	bool attended;	 /* a person answers what agree asks */
	bool verbose;	 /* what is shown with a question has its reasons */
	bool launched;	 /* a launcher's processes may look together: verbs/ranks.h */
	bool page;	 /* the answer is shown as a page, which may hold more than its result */
	/* Lines of the journal are lost: what it holds is not known for sure. */
	bool unreadable;
	bool stale; /* this user sees of the journal what it was before a change */
};

/* Say why there is no answer: -code. */
int door_fail(struct door *d, int code, const struct err *e);
int door_refuse(struct door *d, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The exit code, where a journal that cannot be read makes it EXIT_STUCK, and a stale one
 * EXIT_BLIND. */
int door_exit_code(const struct door *d, int code);
/* Say what it lacks. */
void door_warn(struct door *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As wait of the door. */
int door_wait(struct door *d, long long end_ms);
/* Show what is under way, where somebody sees it, and the time left (then at most five a second);
 * left_s: below 0 or NAN: unknown. most: no longer than that. */
void door_progress(struct door *d, double left_s, bool most, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void door_note(struct door *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- which machine ---------------------------------------------------------------------------- */

/* --host, --overlay. */
struct machine_ask {
	const char *capture, *overlay;
};
extern const struct ask_shape machine_ask_shape;

/* Where changes of that machine go: --overlay; of a demo without it a folder of this user's own.
 * NULL: nowhere. */
const char *demo_overlay(struct arena *a, const struct machine_ask *from);
/* The same where it is there already. */
const char *door_overlay(struct arena *a, const struct machine_ask *from);
struct listing;
/* The demo machines, and where the user's changes to each are. */
void list_demos(struct door *d, struct listing *out);
/* Profiles, as a verb's answer. */
int list_profiles(struct door *d, const void *ask, void *out);
struct doc *listing_page(struct arena *a, const void *ask, const void *answer,
			 const struct page_view *view);
/* Makes it, for a demo: 0, or as answers. */
int door_demo_ready(struct door *d, const struct machine_ask *from);
/* This machine or the captured one; host_close it. NULL: it was said why. */
struct host *door_host(struct door *d, const struct machine_ask *from);

#define DEEP_ROW(type)                                                                             \
	"deep", "also read slow values, which take up to seconds (such as starting CUDA)",         \
		ASK_FLAG(type, deep)

/* How closely a machine is looked at. */
struct door_look {
	bool deep;   /* also what costs up to seconds */
	bool lean;   /* no more than rules need */
	bool config; /* also who configures what */
	bool session;
	bool open; /* say which changes of ours are open */
};
/* Probes it, and adds what the journal knows of this boot. */
struct machine *door_machine(struct door *d, struct host *h, const struct door_look *how);

/* --- which settings --------------------------------------------------------------------------- */

/* --profile, --only, --skip. */
struct profile_ask {
	const char *profile, *only, *skip;
};
extern const struct ask_shape profile_ask_shape;
const char *profile_proposal(size_t i);
#define PROFILE_ROW(type)                                                                          \
	"profile",                                                                                 \
		"the profile to check against: a built-in one or an INI file (default: default)",  \
		ASK_TEXT(type, profile), .letter = 'p', .arg = "NAME|FILE", .files = true,         \
					 .proposal = profile_proposal
/* The same as --only, as arguments. */
#define SETTINGS_ROW(type)                                                                         \
	"SETTING", "only these settings: ids, or groups like gpu", ASK_TEXT(type, settings.only),  \
		.argument = true, .join = ',', .proposal = setting_or_group_proposal
/* --only alone. */
struct only_ask {
	const char *only;
};
extern const struct ask_shape only_ask_shape;
/* --only and --skip alone. */
struct narrow_ask {
	const char *only, *skip;
};
extern const struct ask_shape narrow_ask_shape;

/* 0, or as answers. */
int door_profile(struct door *d, const struct profile_ask *ask, struct profile *p);
int door_narrow(struct door *d, const char *only, const char *skip, struct profile *p);
/* The exit code for counts by verdict: a finding outweighs what could not be seen, for it is
 * certain. */
int door_verdicts_code(const size_t count[]);
/* What settings read knobs through; ctx is the struct host. */
struct fact_str door_read_knob(void *ctx, struct arena *a, const struct knob *k);
/* Ids of settings, for proposals. */
const char *setting_proposal(size_t i);
const char *setting_or_group_proposal(size_t i);

/* --- data files, ledger, journal -------------------------------------------------------------- */

/* --state: the folder of results, calibrations and the like. */
struct state_ask {
	const char *state;
};
extern const struct ask_shape state_ask_shape;
/* Absolute; where nothing is given the usual one: of root the machine's, of others
 * $XDG_STATE_HOME/gputune. */
const char *door_state(struct door *d, const struct state_ask *ask);
/* Where things of that name are kept: of root the site's, else the user's own. NULL: no home. */
const char *door_config(struct door *d, struct host *h, const char *below);
/* Makes a folder and those above it. 0, or a negative errno and *e; -EACCES also: another user's.
 */
int door_folders(struct door *d, struct host *h, const char *folder, unsigned mode, struct err *e);
struct store_where;
/* The same, with the machine's where that is another. */
struct store_where door_where(struct door *d, const struct state_ask *ask);
/* Where a file is kept that was given no place: gputune-TIME and end, in that folder of the usual
 * state, which is made. NULL, and *e. */
const char *door_save_path(struct door *d, const char *folder, const char *end, struct err *e);
/* The one that is meant by a name which is no file here: kept by this user, else the machine's. */
const char *door_saved(struct door *d, const char *name);
#define SAVED_CAPTURES "captures"
#define SAVED_RECORDINGS "recordings"
/* Before something is kept there: 0, or -errno and *e. */
int door_state_ready(struct door *d, struct host *h, const struct state_ask *ask, struct err *e);

/* Models and GPUs with those of the site and the user; captured: those of a captured machine are of
 * none of these. */
const struct knowledge *door_knowledge(struct door *d, bool captured);
/* Never NULL; warns of lines that were skipped. */
const struct ledger *door_ledger(struct door *d, struct host *h, const struct machine *m);
struct journal;
/* Says which changes are open; true where one was interrupted. */
bool door_report_open(struct door *d, struct host *h, const struct journal *j);

#endif
