/* SPDX-License-Identifier: Apache-2.0 */
/* One row looked up in one place: what the leaves of conditions share. For the files of match. */
#ifndef DEFECTS_LEAF_H
#define DEFECTS_LEAF_H

#include "look/defects/match.h"
#include "look/defects/order.h"

struct leaf_look {
	struct defect_world *w;
	struct arena *a;
	const struct defect_place *p;
	struct defect_matches *out; /* for versions without an order; NULL */
	struct defect_proof *proofs;
	size_t n_proofs;
	bool own;	    /* something that the place itself holds was found */
	const char *unseen; /* the first that was not */
};

static inline enum answer3 answer_of(bool yes)
{
	return yes ? ANSWER_YES : ANSWER_NO;
}

/* A text, or each of a list of them; NULL ends it. */
const char *text_at(const json_t *v, size_t i);
#define TEXT_FOR_EACH(t, v)                                                                        \
	for (size_t t##_i = 0, t##_once = 1; t##_once; t##_once = 0)                               \
		for (const char *t; (t = text_at(v, t##_i)); t##_i++)

void prove(struct leaf_look *l, const char *text, const char *from);
/* Keeps the first that was not seen. */
enum answer3 unseen(struct leaf_look *l, const char *what);
bool any_fits(const json_t *patterns, const char *text);
const char *key_text(const json_t *c, const char *key);
/* machine[key], of which name is asked; NULL: not known. */
json_t *machine_has(struct leaf_look *l, const char *key, const char *name);
enum answer3 version_in(struct leaf_look *l, enum order o, const json_t *range, const char *version,
			const char *what);
/* Of several that may be it. */
enum answer3 better(enum answer3 a, enum answer3 b);

typedef enum answer3 leaf_rule(struct leaf_look *l, const json_t *condition);
leaf_rule leaf_package, leaf_pip, leaf_program, leaf_toolkit, leaf_image, leaf_library,
	leaf_process, leaf_env, leaf_file, leaf_list, leaf_driver, leaf_kernel, leaf_config,
	leaf_fix, leaf_gpu, leaf_module, leaf_boot, leaf_firmware, leaf_release, leaf_fact,
	leaf_setting, leaf_log;

#endif
