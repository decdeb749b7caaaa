/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs here and what lies ready to run, as defects ask for it: packages, Python environments,
 * libraries as they lie and as processes have mapped them, of the host and of every container. Each
 * container is looked at through /proc/PID/root, which openat2 keeps inside it. No program is run.
 */
#ifndef DEFECTS_WORLD_H
#define DEFECTS_WORLD_H

#include "knowledge/software_places.h"
#include "look/defects/rows.h"
#include "look/stack/root.h"
#include "machine/model/machine.h"

/* Limits that hold without --deep, which is bounded by the first four alone. */
enum {
	WORLD_PROCESSES = 8192,
	WORLD_ROOTS = 512,
	WORLD_ENVIRONMENTS = 2048,
	WORLD_PACKAGE_BYTES = 32 << 20, /* of a package database */
	WORLD_PROCESS_MS = 500,		/* for the processes */
	WORLD_CONTENT_MS = 400,		/* for the insides of libraries */
	WORLD_SEARCH_MS = 2000,		/* for finding environments */
};

struct world_look {
	const struct stack_root *root;
	const struct machine *m;
	struct host *machine; /* where m was read: the root's host, or another */
	bool live;	      /* root is this machine, and its /proc the kernel's */
	bool deep;	      /* also what is stored and does not run, and large files */
	const struct defect_rows *rows;
	const json_t *baseline; /* releases to judge besides; NULL: none */
	/* Python environments that somebody named, and nothing else. */
	const char *const *envs;
	size_t n_envs;
	bool still;	    /* no processes, no containers */
	const json_t *gpus; /* instead of the machine's; NULL */
	json_t *firmware;   /* of files, by file: names to lists of versions; NULL */
};

struct world_seen {
	size_t processes, containers, images, environments, packages, libraries;
	const char **left_out; /* sentences: what was not looked at */
	size_t n_left_out;
};

void world_take(struct arena *a, const struct world_look *how, struct defect_world *out,
		struct world_seen *seen);
void world_free(struct defect_world *w);

/* The rows that facts alone decide: nothing is read for them. */
void defects_of_facts(struct arena *a, const struct machine *m, struct defect_matches *out);

/* What a text would set and start on that machine. */
struct defect_words {
	json_t *env;	   /* names to values */
	json_t *processes; /* command lines */
	const char *nccl;  /* the version that they load; NULL: not known */
};
/* The rows that what is set or started decides, on a machine (NULL: not known). */
void defects_of_words(struct arena *a, const struct defect_rows *rows, const struct machine *m,
		      const struct defect_words *words, struct defect_matches *out);

/* --- for the files of the world --------------------------------------------------------------- */

/* What rows ask for: nothing else is kept. */
struct wanted {
	json_t *libraries, *programs, *env, *processes; /* arrays of patterns */
};

struct place_own {
	struct stack_root root;
	struct host *opened;  /* to close; NULL: somebody else's */
	const char *packages; /* site-packages of an environment */
	bool listed;	      /* names alone are known of its files */
};

struct world_root {
	const char *id; /* of a mount namespace */
	struct defect_place *place;
};

struct seeing {
	struct arena *a;
	const struct world_look *how;
	struct world_seen *seen;
	struct wanted wanted;
	struct defect_place **places; /* pointers: the list grows */
	size_t n;
	struct world_root *roots;
	size_t n_roots;
	long long content_ms, search_ms; /* used for the insides of libraries, for environments */
	json_t *codes; /* GPU code by build id, size and time of change: read once */
	const struct findings *findings;
};

void world_left_out(struct seeing *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct defect_place *world_place(struct seeing *w, const char *name, const char *prefix,
				 const struct place_own *own);
void place_put(struct defect_place *p, const char *kind, const char *name, json_t *value,
	       const char *from);
bool wanted_name(const json_t *patterns, const char *name);
/* New, or the one that is there; NULL: its path is no text. removed: the file was replaced, and a
 * process still runs it. */
json_t *place_library(struct seeing *w, struct defect_place *p, const char *path, bool removed);
json_t *place_kind(struct defect_place *p, const char *kind, bool list);
const struct stack_root *root_of(const struct defect_place *p);
void wanted_take(const struct defect_rows *rows, struct wanted *out);
void wanted_free(struct wanted *w);
void environment_try(struct seeing *w, struct defect_place *root, const char *prefix);
/* All that lies in a root, and the packages of one folder of it. */
void root_take(struct seeing *w, struct defect_place *p);
void packages_of(struct seeing *w, struct defect_place *root, const char *prefix,
		 const char *packages);
/* rpm.c: packages of a database of SQLite; false: it cannot be read. */
bool rpm_take(struct seeing *w, struct defect_place *p, const char *path);
bool dist_of(const char *folder, char *name, size_t cap, char *version, size_t vcap);
void packages_parse(struct seeing *w, struct defect_place *p, char *text, const char *from);
/* A new environment of that root; NULL: it is there, or there are too many. */
struct defect_place *environment(struct seeing *w, struct defect_place *root, const char *prefix,
				 const char *packages);
struct defect_place *environment_there(struct seeing *w, const struct defect_place *root,
				       const char *packages);
/* The root is an image in the OCI layout; and what its layers hold. */
bool image_is(struct host *h);
void image_take(struct seeing *w, struct defect_place *p);
void processes_take(struct seeing *w, struct defect_place *host);

/* defects/facts_part.c: by facts alone. */
json_t *machine_facts_part(struct arena *a, const struct machine *m);
/* Several versions of one name stand in a list. */
void version_add(json_t *all, const char *name, const char *version);
/* defects/machine_part.c: the machine's keys, and those that are read on demand. */
json_t *machine_part(struct seeing *w);
void machine_fill(struct defect_world *dw, const char *key, const char *name);
/* firmware.c: what a list of fwupdmgr or mlxfwmanager says, text cut up. -EINVAL: it is neither. */
int firmware_of_file(struct arena *a, const char *name, char *text, size_t len, json_t *all,
		     struct err *e);
/* library.c */
/* The version of a program, where it is there and rows ask for it. */
void place_program(struct seeing *w, struct defect_place *p, const char *path);
/* A file that no package manager put there. */
void place_native(struct seeing *w, struct defect_place *p, const struct software_place *r,
		  const char *path);
/* Adds the paths that path can be, of which parts may have '*'; "~/": in every home. 0, or -errno
 * of a folder. */
int paths_of(struct arena *a, struct host *h, const char *path, const char ***out, size_t *n);
void library_fill(struct defect_world *dw, const struct defect_place *p, json_t *lib,
		  const char *what);
enum answer3 library_has(struct defect_world *dw, const struct defect_place *p, json_t *lib,
			 const char *what, const char *pattern);

#endif
