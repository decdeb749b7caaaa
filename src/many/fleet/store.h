/* SPDX-License-Identifier: Apache-2.0 */
/* What fleet.c, item.c and settle.c share: everything that was seen, once. */
#ifndef FLEET_STORE_H
#define FLEET_STORE_H

#include <jansson.h>
#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "many/fleet/fleet.h"

/* An object of a list, by its bytes. */
struct fleet_item {
	uint64_t hash;
	const char *raw; /* NULL: no room was left to keep it */
	size_t len;
	enum fleet_kind kind;
	const struct fleet_part *part;
	struct fleet_item *next; /* the one that came after it when it was last seen */
};

struct fleet_store {
	struct map texts, subjects, parts, machines, proofs, verdicts, benches, measured;
	size_t n_verdicts;
	struct fleet_item **slots; /* open addressing */
	size_t n_items, cap, raw_bytes, n_parts;
	uint64_t seed;
	bool values;
	struct fleet_item *last;
	/* the document that is being read */
	enum fleet_kind kind;
	const struct fleet_part **seen;
	size_t n_seen, cap_seen;
	struct text key;
};

/* One copy of s, cut at FLEET_TEXT_MAX bytes; NULL for NULL. */
const char *store_text(struct fleet *f, const char *s);
/* NULL: there are too many. */
struct fleet_subject *store_subject(struct fleet *f, enum fleet_kind kind, const char *id);
/* The one part that is equal to p. */
const struct fleet_part *store_part(struct fleet *f, const struct fleet_part *p);
/* proofs.c: ledgers. */
bool proofs_is_ledger(const char *text, size_t len);
void proofs_add(struct fleet *f, const char *file, const char *text, size_t len);
void proofs_settle(struct fleet *f);
/* benches.c: results of bench. True when the next document is one: *at moves behind it; -EINVAL and
 * *e when it makes no sense. */
bool benches_next(const char *at, const char *end);
int benches_add(struct fleet *f, const char *file, const char *name, const char **at,
		const char *end, struct err *e);
void benches_settle(struct fleet *f);
/* hardware.c: "2 x NVIDIA H200, 2 x AMD EPYC 9654, 1536 GiB, 8 x 15b3:1021" of a result's
 * fingerprint (may be NULL); and what runs on it, FLEET_SOFTWARE texts or NULLs. */
const char *hardware_text(struct fleet *f, const json_t *print);
void hardware_software(struct fleet *f, const json_t *print, const char **out);
/* fleet.c: the machine of that document; fallback where it has no name. NULL and *e: too many. */
struct fleet_machine *store_machine(struct fleet *f, const json_t *document, const char *fallback,
				    struct err *e);
/* What the document says of its machine; nothing where a check has said it. */
void store_host(struct fleet *f, struct fleet_machine *m, const json_t *document, const char *file);
/* As split's item and guess; ctx is the struct fleet. */
int store_item(void *ctx, const char *raw, size_t len, struct err *e);
const char *store_guess(void *ctx, size_t *len);

#endif
