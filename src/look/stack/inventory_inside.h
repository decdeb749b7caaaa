/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the inventory share. */
#ifndef STACK_INVENTORY_INSIDE_H
#define STACK_INVENTORY_INSIDE_H

#include "look/stack/inventory.h"

struct take {
	struct arena *a;
	const struct stack_root *root;
	const struct inventory_options *how;
	struct inventory *out;
};

/* A new place, or the one that is there already; its index. */
size_t take_place(struct take *t, enum place_kind kind, const char *path);
struct stack_item *take_item(struct take *t, enum component c, size_t place, const char *path);
/* Every component library in a folder, by soname. */
void take_folder(struct take *t, size_t place, const char *dir);
/* All Python environments of `how`, and those in the usual places. */
int take_python(struct take *t, struct err *e);
/* Version by the name of the file, the package that owns it, or its text. */
void take_version(struct take *t, struct stack_item *item);
/* Loads the library in a child process and asks it (live machines alone). */
void take_said(struct take *t, struct stack_item *item);

#endif
