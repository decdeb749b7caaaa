/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known besides what is compiled in: rows that a data package, the site and the user have
 * in files of their own. docs/design/KNOWLEDGE.md says where, and what wins.
 */
#ifndef KNOWLEDGE_KNOWLEDGE_H
#define KNOWLEDGE_KNOWLEDGE_H

#include "base/arena.h"
#include "base/err.h"
#include "knowledge/gpus.h"
#include "knowledge/models.h"

struct host;

/* Whole tables, each ended by a row without a name: rows of files stand before those that are
 * compiled in, or replace them. */
struct knowledge {
	const struct gpu_kind *gpus;
	const struct model_row *models;
};

/* What is compiled in. */
extern const struct knowledge knowledge_built_in;
/* Lookups take NULL for it. */
static inline const struct knowledge *knowledge_or_built_in(const struct knowledge *k)
{
	return k ? k : &knowledge_built_in;
}

/* The folder of a data package: its rows lie over those that are compiled in. */
extern const char knowledge_package[];

/* A file that is not used, as a whole, and why. */
typedef void knowledge_warn(void *ctx, const struct err *e);

/*
 * Reads the data package's folder, /etc/gputune/knowledge and the user's configuration folder,
 * each NAME.rows of it, in this order: a row takes the place of one before it that has its name.
 * h: the machine of the person who asks, whatever machine is asked about. captured: it is asked
 * about a captured machine, whose GPUs are those of the data package alone, so that everybody gets
 * the same; a model is part of the question.
 */
void knowledge_read(struct arena *a, struct host *h, bool captured, knowledge_warn *warn, void *ctx,
		    struct knowledge *out);

#endif
