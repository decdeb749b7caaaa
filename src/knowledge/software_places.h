/* SPDX-License-Identifier: Apache-2.0 */
/* Places of software that no package manager lists: src/knowledge/software_places.rows. */
#ifndef KNOWLEDGE_SOFTWARE_PLACES_H
#define KNOWLEDGE_SOFTWARE_PLACES_H

#include "base/rows.h"

enum software_place_kind {
	PLACE_SOFTWARE,	   /* a file of a root */
	PLACE_PREFIX,	   /* a file below the folder of an environment */
	PLACE_ENVIRONMENT, /* the folder of one */
	PLACE_LIBRARIES,   /* a folder of site-packages */
	PLACE_STORE,	   /* a layer or an image */
	PLACE_CONTAINER,   /* a container's configuration, JSON */
	PLACE_BINARY,	   /* a file's name: its version is in .rodata */
	PLACE_TEXT,	   /* the same of a text */
};

/* What each column means: software_place_table. */
struct software_place {
	const char *path;
	unsigned kind;
	const char *package, *program, *unless, *below, *what, *label, *image, *before, *form;
};

extern const struct row_table software_place_table;
extern const struct software_place software_places[];
extern const size_t n_software_places;

/* Each row of that kind. */
#define PLACE_FOR_EACH(r, wanted)                                                                  \
	for (const struct software_place *r = software_places; r->path; r++)                       \
		if (r->kind == (wanted))

#endif
