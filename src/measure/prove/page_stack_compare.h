/* SPDX-License-Identifier: Apache-2.0 */
/* Two builds of one library against each other, for people and for programs. */
#ifndef PROVE_PAGE_STACK_COMPARE_H
#define PROVE_PAGE_STACK_COMPARE_H

#include "base/shape.h"
#include "measure/prove/versus.h"
#include "look/stack/library_variant.h"
#include "render/doc.h"

/* What a library said it is and chose, and in how many windows that count. */
struct compare_choice {
	const char *text;
	size_t windows;
};

enum { COMPARE_CHOICES_MAX = 32 };

struct compare_side_view {
	const struct library_variant *side;
	struct compare_choice choices[COMPARE_CHOICES_MAX]; /* each once; later ones are left out */
	size_t n_choices;
	const char *fault; /* why it has no figure; NULL */
};

struct compare_view {
	const char *bench, *setup; /* setup NULL: it was never known */
	const char *component;	   /* "cuBLASLt" */
	struct compare_side_view sides[2];
	const struct versus *v;
	enum ruling_kind verdict; /* of B against A */
	bool failed;		  /* a side has no figure */
	const char *why;
	struct record_conditions conditions;
	struct record machine; /* fingerprint alone */
};

struct doc *page_stack_compare(struct arena *a, const struct compare_view *v);
extern const struct result_shape stack_compare_result; /* of a struct compare_view */

#endif
