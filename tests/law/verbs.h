/* SPDX-License-Identifier: Apache-2.0 */
/* What every verb that judges says of a machine, as one list. */
#ifndef TESTS_LAW_VERBS_H
#define TESTS_LAW_VERBS_H

#include "measure/doctor/doctor.h"
#include "vary.h"

enum law_verb {
	LAW_CHECK,
	LAW_DOCTOR,
	LAW_CLUSTER,
	LAW_GENERATE,
	LAW_LINT,
	LAW_MONITOR,
	LAW_WATCH,
	LAW_VERBS
};

enum law_state {
	LAW_RIGHT, /* pass; excluded */
	LAW_WRONG, /* fail; certain or likely; a warning or fault */
	LAW_MAYBE, /* possible; a note */
	LAW_OPEN,  /* unknown, not applicable, not tested, not here */
};

struct judgement {
	enum law_verb verb;
	const char *what;   /* "memory.memlock", "memory.register-fails/memlock", "mtu-small" */
	const char *target; /* of check's; of others what tells two of one name apart; "" */
	const char *of;	    /* the settings' target that it takes its word from; NULL: any */
	enum law_state state;
	bool unknown; /* it says that something could not be seen */
	const char *text;
	const char *by;	    /* settings that it takes its word from, by blanks; NULL */
	const char *judges; /* facts that it judges by itself; NULL */
	const char *given;  /* facts that say what it is about; NULL */
	bool weighs;	    /* it says more than these settings: what they find may be no cause */
	const void *object; /* of check's: what the setting was asked of */
	const struct setting *s; /* of check's */
};

struct judgements {
	struct judgement *items; /* by verb, what, target */
	size_t n;
};

/* A diagnosis besides those of the program; NULL: none. */
extern const struct diagnosis *law_planted;

/* A second rule: what a verb says of this machine in place of its own judgement of that name. */
struct law_second {
	enum law_verb verb;
	const char *what;
	enum law_state (*rule)(const struct world *w);
};
/* NULL: none. */
extern const struct law_second *law_second;

/* earlier: what doctor saw two seconds before. peer: the machine at the other end of its cables. */
void judge_all(struct world *w, struct arena *a, const struct observations *earlier,
	       const struct machine *peer, struct judgements *out);
const char *law_verb_name(enum law_verb v);
const char *law_state_name(enum law_state s);
/* word is one of the list's, which blanks separate; a list's word that ends in '*' stands for all
 * that begin so. */
bool is_word_of(const char *list, const char *word);

#endif
