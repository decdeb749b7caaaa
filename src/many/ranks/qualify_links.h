/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the test of links share: groups and pairs, and paths by themselves. */
#ifndef RANKS_QUALIFY_LINKS_H
#define RANKS_QUALIFY_LINKS_H

#include "base/stat.h"
#include "many/ranks/qualify.h"

#define NOWHERE ((size_t)-1)
enum { ANSWER_MS = 20000, SIZES = 15 /* of groups, by powers of two */ };

struct links {
	struct arena *a;
	const struct channel *c;
	const struct qualify_how *how;
	struct qualify *q;
	struct addresses_answer *addresses; /* by node */
	struct rsh_reply *replies;
	json_t **with;
	const char *line; /* what is tested, for how->say */
	long long end_ns;
	long long test; /* number of the next */
	struct stat_random random;
	bool *suspected; /* by node */
	int error;
};

/* The rail at hand. */
struct railing {
	struct links *l;
	struct qualify_rail *rail;
	size_t number, *on, n; /* nodes on it */
	/* Seconds of a pair in a group of about that size, and how far they waver; 0: not known. */
	double usual[SIZES], wavers[SIZES];
	double late_us;
};

/* --- qualify_paths.c -------------------------------------------------------------------------- */
/* Sends the requests in l->with to their nodes; 0 or -EINTR. */
int links_ask(struct links *l, const char *what, int ms);
/* What that node answered; false: nothing of that form. */
bool links_read(struct links *l, size_t node, const struct shape *s, void *out);
bool links_over(const struct links *l);
/* True: it is bad. */
bool links_add_pair(struct links *l, const struct qualify_pair *p);
void links_test_paths(struct railing *r);
void links_test_collectives(struct links *l);
void links_missing_ports(struct links *l);

#endif
