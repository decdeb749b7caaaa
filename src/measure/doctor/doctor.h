/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnoses: from a symptom in a person's words to causes with evidence. One const row each, one
 * table a topic. A rule is pure: facts, findings of the settings, signs and results of tests in, a
 * likelihood and a sentence out. What was not tested is never said to be fine.
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include "look/defects/page.h"
#include "look/settings/check.h"
#include "measure/bench/bench.h"
#include "measure/bench/record.h"
#include "measure/doctor/observations.h"

/* Most telling first. */
enum likelihood {
	CAUSE_CERTAIN,	/* it is so, and it makes the symptom */
	CAUSE_LIKELY,	/* it is so; whether it makes the symptom depends on the work */
	CAUSE_POSSIBLE, /* nothing speaks against it, something for it */
	CAUSE_UNSEEN,	/* could not be looked at */
	CAUSE_EXCLUDED,
	CAUSE_NOT_HERE, /* this machine has no such part */
	LIKELIHOODS
};

/* What a rule says; says is a literal or arena memory. */
struct judged {
	enum likelihood likelihood;
	const char *text;
	const char *by_hand; /* what a person does, of the finding behind it; NULL: of the row */
};

/* Short tests by the benches, where what can be read does not tell. Bits of diagnosis.tests. */
enum doctor_test_id {
	TEST_GPU_LOAD,	   /* gpu-load */
	TEST_GPU_COPY,	   /* copy between host and GPUs */
	TEST_GPU_MEMORY,   /* gpu-memory */
	TEST_GPU_STEADY,   /* gpu-memory for long: two states */
	TEST_MEMORY_ONE,   /* memory-bandwidth of one thread */
	TEST_MEMORY_PAGES, /* memory-latency on huge pages */
	TEST_CPU_CLOCK,	   /* cpu-frequency */
	TEST_WAKE,	   /* idle-wake-up, asleep and kept awake */
	TEST_TIMER,	   /* timer-wake-up */
	TEST_TCP,	   /* one stream to --peer */
	TEST_TCP_BACK,	   /* and from it */
	TEST_TCP_IDLE,	   /* a burst after a pause, to --peer */
	TEST_RDMA,	   /* to --peer */
	TEST_PATH,	   /* what the connection to --peer says of its way */
	TEST_FILES,	   /* model-load of --files */
	TEST_DISK,	   /* disk in --dir */
	TESTS
};
#define TEST_BIT(t) (1U << (t))

enum doctor_need { NEED_NOTHING, NEED_GPU, NEED_PEER, NEED_FILES, NEED_DIR };

struct doctor_test {
	enum doctor_test_id id;
	const char *name;  /* "gpu-load" */
	const char *bench; /* NULL: measure/doctor/test.c */
	const char *cases; /* a case, or how their names begin; NULL: all */
	double seconds;	   /* a case; 0: the bench's own */
	enum doctor_need need;
	bool by_name; /* so long that it runs only when its symptom was asked for */
};
extern const struct doctor_test doctor_tests[TESTS];

/* What the way to the peer turned out to be; see measure/doctor/test.c. */
struct path_look {
	const char *to, *interface; /* "": not known */
	bool wireless;
	double rtt_s;		/* round trip of the first packets; 0: not known */
	long long mtu;		/* of our interface, bytes */
	long long path_mtu;	/* that the kernel believes in; 0: not known */
	long long own_segment;	/* largest segment that we announce */
	long long segment;	/* that may be sent: the smaller of both ends and the way */
	long long speed_mbps;	/* of our interface; 0: not known */
	long long fastest_mbps; /* of this machine's interfaces that are up */
	const char *fastest;
};

/* Everything a rule may look at. */
struct rule_facts {
	struct arena *a;
	const struct machine *m;
	const struct findings *findings;
	const struct observations *signs;
	const struct observations *earlier; /* apart_s before; NULL: looked at once */
	double apart_s;
	const struct record *record;  /* of the tests that ran; NULL: none */
	const struct path_look *path; /* NULL: not looked at */
	const char *not_run[TESTS];   /* why; NULL: it ran */
	/* Looks for known defects, once: a rule asks. NULL: none were looked for. */
	const struct defects_view *(*known)(void *of);
	void *known_of;
	/* Applied settings that no boot file keeps, and those that another program or file
	 * overwrites at boot; NULL: unknown, and own_unseen has the reason. */
	const char *own_unkept, *own_overwritten, *own_unseen;
};

struct remedy {
	unsigned on; /* enum on */
	const char *text;
};

struct cause {
	const char *id, *title;
	/* Judged by this setting's findings: a failed one weighs so much. Neither this nor a rule:
	 * a person has to look. */
	const char *setting;
	enum likelihood weight;
	const char *code; /* counts only failures with this reason code; NULL: all */
	/* Or by a rule of its own; with both the rule looks at the setting itself (or at several,
	 * by blanks), and judges nothing that they judge. */
	void (*rule)(const struct rule_facts *e, struct judged *out);
	/* What a rule judges besides: facts that no setting does, by blanks, as "gputune list
	 * --facts" names them, "seen.log_oom" of struct observations. And what says only whether it
	 * is about this machine. tests/law holds both to it. */
	const char *judges, *given;
	/* Findings of its settings alone are no cause: they have to show. */
	bool weighs;
	bool grows; /* counters tell it that are read twice, a second apart */
	/* The setting that mends it, by a transaction; NULL: none does. */
	const char *fix;
	const char
		*value; /* for it, where the profile has no target value; NULL: then it is left */
	/* What a person does, the first that fits the platform; with fix: what else. None: what the
	 * setting says. */
	struct remedy steps[3];
};

/* What a machine has to have for a diagnosis to be about it. */
enum doctor_part { PART_ANY, PART_GPU, PART_RDMA, PART_DATA_PORT };

struct diagnosis {
	const char *id;	     /* "topic.name", append-only */
	const char *symptom; /* as people say it */
	const char *words;   /* that they may use besides */
	const char *said;    /* how others said it, a line each; NULL */
	/* What programs print then, a pattern a line (look/defects), with "?" before what has other
	 * causes too, "!" before what speaks against it; NULL. */
	const char *log;
	double often;	   /* of the labelled reports, how many it fits */
	const char *leads; /* another verb's matter: the command that answers it; NULL */
	/* What this machine alone cannot see, and what would show it; NULL: it sees all. */
	const char *missing;
	unsigned missing_test; /* that shows it: a bit; 0: none does */
	unsigned tests;
	enum doctor_part part;
	bool ask_only; /* looked at only when asked for */
	bool normal;   /* what it finds is no fault */
	const struct cause *causes;
	size_t n;
};

struct diagnosis_table {
	const struct diagnosis *rows;
	size_t n;
};
extern const struct diagnosis_table *const diagnosis_tables[];
extern const size_t diagnosis_table_count;
#define DIAGNOSIS_FOR_EACH(d)                                                                      \
	for (size_t table_ = 0; table_ < diagnosis_table_count; table_++)                          \
		for (const struct diagnosis *d = diagnosis_tables[table_]->rows;                   \
		     d < diagnosis_tables[table_]->rows + diagnosis_tables[table_]->n; d++)
/* Each pattern of a diagnosis' log, up to its line end. */
#define LOG_PATTERN_FOR_EACH(s, d)                                                                 \
	for (const char *s = (d)->log; s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)

const char *likelihood_name(unsigned l);

/* --- choosing: search.c ----------------------------------------------------------------------- */
/* Why a diagnosis was chosen by words and lines of programs. */
struct symptom_match {
	double probability;		   /* that it fits; weights of terms.rows */
	double words, known, lines, hints; /* what it was made from */
	const char *line;		   /* "vllm.log, line 12: pattern"; NULL: by words alone */
};

/* One word for several, or words that say nothing (id "-..."); what is said of other matters, and
 * weights, are such rows too. */
struct vocabulary {
	const char *id, *same;
};
struct vocabulary_table {
	const struct vocabulary *rows;
	size_t n;
};
extern const struct vocabulary_table doctor_terms, doctor_background, doctor_leanings, doctor_pulls,
	doctor_weights;

struct log_input;
struct chosen {
	const struct diagnosis **items;
	struct symptom_match *matches; /* of each item; NULL: chosen by id */
	size_t n;
	bool named;   /* somebody asked for them */
	bool unknown; /* nothing fits the description: all, to see what is unusual here */
};
void doctor_all(struct arena *a, bool asked, struct chosen *out); /* asked: those of ask_only too */
/* Ids, prefixes of ids or words of a symptom, together, and what programs printed (input; NULL:
 * nothing); neither: all. At most three, the likeliest first. False: nothing fits. */
bool doctor_choose(struct arena *a, const char *const *words, size_t n,
		   const struct log_input *input, struct chosen *out);
/* Ids, or words, files of programs' output and standard input, as a person gives them. -errno and
 * *e: a file cannot be read. */
int doctor_describe(struct arena *a, const char *const *words, size_t n, struct log_input *input,
		    struct chosen *out, struct err *e);
/* Ids or prefixes alone. False: *bad is none. */
bool doctor_only(struct arena *a, const char *const *ids, size_t n, struct chosen *io,
		 const char **bad);

/* --- judging: examine.c ----------------------------------------------------------------------- */
enum doctor_state { DOCTOR_FOUND, DOCTOR_OPEN, DOCTOR_FINE, DOCTOR_NOT_HERE, DOCTOR_STATES };

struct cause_result {
	const struct cause *c;
	struct judged v;
	const char *step; /* what a person does on this platform; NULL: nothing */
};

struct examined {
	const struct diagnosis *d;
	const struct symptom_match *match; /* NULL: not chosen by words */
	enum doctor_state state;
	struct cause_result *causes; /* all of d, most telling first */
	size_t n;
	bool missing;	 /* what this machine alone cannot see was not seen by a test either */
	const char *why; /* OPEN: what was not tested; NOT_HERE: why not */
	const struct examined *now; /* after a fix that was kept; NULL: none was */
};

const char *doctor_state_name(unsigned s);
void doctor_examine(const struct rule_facts *e, const struct diagnosis *d, struct examined *out);
/* The step for this platform; NULL: none. */
const char *doctor_step(const struct cause *c, const struct machine *m, const char *by_hand);
/* Tests of all of them. */
unsigned doctor_tests_of(const struct chosen *c);

/* --- after a fix: remeasure.c ----------------------------------------------------------------- */
enum remeasured { FIX_BETTER, FIX_SAME, FIX_WORSE, FIX_UNDECIDED, FIX_GONE, FIX_STAYS };
struct fix_verdict {
	enum remeasured how;
	const char *says; /* with figures */
	bool keep;	  /* without --keep */
};
/*
 * a, b: two runs before the fix, c: after it; NULL where there is no test. gone: what had found the
 * cause finds it no more. A difference that a and b show as well decides nothing.
 */
void doctor_remeasure(struct arena *arena, const struct record *a, const struct record *b,
		      const struct record *c, bool gone, struct fix_verdict *out);
const char *remeasured_name(unsigned r);

/* Running the short tests of diagnoses through the frame of the benches. */

struct doctor_plan {
	unsigned tests;	       /* bits */
	bool named;	       /* somebody asked for these symptoms */
	double seconds;	       /* --for: a case; 0: each test's own */
	const char *forbidden; /* why no test may run; NULL: they may */
};

/*
 * Runs what can run; the frame must have been started. why[t] says of each other test that was
 * asked for why it did not run. path is filled when TEST_PATH ran.
 */
void doctor_run_tests(struct frame *f, const struct doctor_plan *p, struct record *r,
		      const char *why[TESTS], struct path_look **path);
/* Why a test of this need must not run now; NULL: it may. Pure. */
const char *doctor_test_gate(struct arena *a, const struct machine *m, const struct bench_ask *ask,
			     enum doctor_need need);
/* About how long they take. */
double doctor_tests_seconds(const struct doctor_plan *p);

#endif
