/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a GPU software stack is installed: by the system, in CUDA toolkits, in Python
 * environments. No program of what is looked at is run, no Python is executed.
 */
#ifndef STACK_INVENTORY_H
#define STACK_INVENTORY_H

#include "look/stack/component.h"
#include "look/stack/root.h"
#include "look/stack/scan.h"

enum stack_place_kind { PLACE_SYSTEM, PLACE_TOOLKIT, PLACE_PYTHON };

/* A version that a package insists on: "Requires-Dist: triton==3.5.0". */
struct dist_pin {
	const char *name, *version; /* name normalised */
};

struct dist {
	const char *name; /* normalised */
	const char *version;
	const char *info; /* its dist-info folder */
	struct dist_pin *pins;
	size_t n_pins;
};

struct stack_place {
	enum stack_place_kind kind;
	const char *path;     /* the environment, the toolkit; "/" for the system */
	const char *packages; /* site-packages; NULL */
	const char *version;  /* of the toolkit, of Python; NULL: not known */
	bool nvcc;	      /* the toolkit has its compiler */
	bool has_python;      /* PATH/bin/python is there */
	struct dist *dists;
	size_t n_dists;
	const char *torch_cuda; /* "13.0", "" for a build without CUDA; NULL: no torch */
};

struct stack_item {
	enum component c;
	size_t place; /* index */
	const char *place_path;
	const char *path;
	const char *soname;	  /* "libnccl.so.2"; NULL: a Python package */
	const char *version;	  /* NULL: not known */
	const char *version_from; /* "its file name", "the package nvidia-nccl-cu13", ... */
	const char *said;	  /* what the loaded library answers (--deep); NULL: not asked */
	const char *said_error;	  /* why it did not answer */
	bool scanned;
	struct scan code; /* of all files with its GPU code */
};

struct inventory {
	struct stack_place *places;
	size_t n_places;
	struct stack_item *items;
	size_t n_items;
	bool system_seen;	/* the loader's cache could be read */
	const char *system_why; /* when not */
};

struct inventory_options {
	const char *const *envs; /* named by the user */
	size_t n_envs;
	bool only_envs; /* look nowhere else for Python */
	bool deep;	/* load libraries in a child process and ask them */
	const struct scan_options *scan;
};

/* -errno and *e when a named environment is none. Everything lives in a. */
int inventory_take(struct arena *a, const struct stack_root *root,
		   const struct inventory_options *how, struct inventory *out, struct err *e);

/* The dist of that normalised name; NULL. */
const struct dist *place_dist(const struct stack_place *p, const char *name);
/* "2.9.1" against "2.28.3": by numbers; letters and what follows '+' do not count. */
int version_compare(const char *a, const char *b);

/* What the files of the inventory share. */

struct take {
	struct arena *a;
	const struct stack_root *root;
	const struct inventory_options *how;
	struct inventory *out;
};

/* A new place, or the one that is there already; its index. */
size_t take_place(struct take *t, enum stack_place_kind kind, const char *path);
/* Every component library in a folder, by soname. */
void take_folder(struct take *t, size_t place, const char *dir);
/* Version by the name of the file, the package that owns it, or its text. */
void take_version(struct take *t, struct stack_item *item);
/* Loads the library in a child process and asks it (live machines alone). */
void library_take_answer(struct take *t, struct stack_item *item);

#endif
