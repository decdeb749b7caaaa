/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: what knobs and health figures should be, one const row each, one table a topic. A rule
 * is pure: facts in, verdict out; it cannot reach the machine and prints nothing.
 */
#ifndef SETTINGS_SETTINGS_H
#define SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "machine/knob/knob.h"
#include "machine/model/machine.h"

enum scope {
	SCOPE_HOST,   /* one: object is the struct machine */
	SCOPE_GPU,    /* struct gpu */
	SCOPE_POLICY, /* struct freq_policy */
	SCOPE_IDLE,   /* struct idle_group */
	SCOPE_POOL,   /* struct huge_pool */
	SCOPE_NIC,    /* struct nic, those with a PCI function */
	SCOPE_RDMA,   /* struct rdma_port */
	SCOPE_PCI,    /* struct pci_function */
	SCOPE_DISK,   /* struct disk with role "disk" */
	SCOPE_ZPOOL,  /* struct zpool */
	SCOPE_HEAT,   /* struct temperature */
	SCOPE_MOUNT,  /* struct mount */
	SCOPES,
};

/* Platforms, a bit each, so that a recommendation can name several. A machine has one of the first
 * four or ON_HOST; Grace (CPU and GPU on one NVLink-C2C) comes on top. A reason that speaks of GPUs
 * is ON_GPU. */
enum on {
	ON_SPARK = 1,
	ON_IGX = 2,
	ON_HGX = 4,
	ON_GENERIC = 8, /* any other with an NVIDIA GPU */
	ON_HOST = 16,	/* no NVIDIA GPU: a database, a file server */
	ON_GRACE = 32,
	ON_GPU = 15,
	ON_ALL = 63,
};

enum profile_id {
	PROFILE_DEFAULT,   /* what evidence supports */
	PROFILE_PUBLISHED, /* exactly what the two published guides list */
	PROFILE_MAX_PERFORMANCE,
	PROFILE_LOW_LATENCY,
	PROFILE_BALANCED,
	PROFILE_INFERENCE,
	PROFILE_TRAINING,
	PROFILE_VENDOR, /* what the makers of the machine set, see vendor.h */
	PROFILES,
};

enum relation {
	WANT_LEAVE,    /* no target value: because says why it is left alone */
	WANT_IS,       /* equal, as number where both are numbers */
	WANT_AT_LEAST, /* numbers */
	WANT_AT_MOST,
	WANT_ONE_OF, /* blank-separated words */
	WANT_NOT,    /* anything but */
};

/* First match by profile and platform wins; a profile without a row of its own, other than
 * published, takes the default's. */
struct recommendation {
	enum profile_id profile;
	unsigned on; /* platforms */
	enum relation rel;
	const char *value;
	const char *because;
	const char *source; /* NULL: the row's */
};

enum verdict_kind { VERDICT_PASS, VERDICT_FAIL, VERDICT_NA, VERDICT_UNKNOWN };
enum severity { SEVERITY_INFO, SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH, SEVERITY_CRITICAL };
/* What changing it can do: 0 harmless, 1 visible and reversible, 2 can stall or cut service, 3 can
 * hang, overheat or make the machine unbootable. */
enum risk { RISK_NONE, RISK_LOW, RISK_SERVICE, RISK_DANGER };
enum effect { EFFECT_NOW, EFFECT_DRIVER_RELOAD, EFFECT_REBOOT, EFFECT_FIRMWARE };

struct setting;

/* What a rule sees. */
struct rule_ctx {
	struct arena *a;
	const struct machine *m;
	const struct setting *s;
	const void *object; /* by scope */
	const char *name;   /* the target's name; "" for the host */
	unsigned platform;  /* bits of enum on */
	enum profile_id profile;
	struct fact_str current; /* the knob's or fact's value as text */
	const struct recommendation
		*wish; /* of the profile file, the rule's want() or the tables; or NULL */
};

/* What a rule says. Texts are literals or arena memory. */
struct verdict {
	enum verdict_kind kind;
	const char *code;     /* stable reason code, see codes below; NULL is filled in by judge */
	const char *reason;   /* a sentence */
	const char *current;  /* NULL: taken from question.current */
	const char *wanted;   /* NULL when there is no target value */
	const char *why;      /* NULL: the recommendation's because, or the row's why */
	const char *by_hand;  /* NULL: the row's */
	const char *disagree; /* what two sources of its fact say; NULL: they agree */
	bool slight; /* it costs little here: the finding's severity is low, whatever the row's; of
		      * what passes: nothing to compare with, so that it excludes no cause */
};

/* One write that would make a failed finding right. */
struct remediation {
	struct knob knob;
	const char *value; /* as machine/knob/io.h describes the kind's values */
};

struct remediations {
	struct remediation *items; /* in the order in which they have to be written; arena */
	size_t n;
	const char *by_hand; /* a sentence: why no write of ours makes it right, and what does */
};

struct setting {
	const char *id;	   /* "group.name", append-only */
	const char *title; /* up to about 40 characters */
	const char *why;   /* one to three sentences: what it does to performance */
	const char
		*why_host; /* the same of a machine without a GPU; NULL: why says nothing of GPUs */
	const char *source;   /* "; "-separated; keys of setting.c or titles of public documents */
	const char *not_when; /* when it does not apply, in words */
	const char *note;     /* why the published value differs from ours, or a trap; NULL */
	unsigned note_on;     /* platforms that the note is about; 0: all */
	enum scope scope;
	/* The knob: kind and pattern ("{}" is the target's name, or for NVML and PCI the PCI
	 * address). */
	enum knob_kind knob;
	const char *name;
	/* The current value as a fact of the scope's struct instead of a knob reading. */
	const struct shape *of; /* NULL: read the knob */
	const char *fact;	/* the row's key in that shape: "persistence" */
	const char *read;	/* how it is read, in words; NULL: follows from knob or fact */
	const char *written;	/* the same of writing; NULL: follows from the knob */
	const char *sources; /* facts with several sources that it judges, by blanks; NULL: none */
	const char *unit;    /* of current and wanted; NULL */
	enum severity severity;
	enum risk risk;
	const char *danger; /* of RISK_DANGER: what can happen, a clause */
	enum effect effect;
	/*
	 * Where its effect shows: benches and cases, "bench" or "bench/how-the-case-begins", the
	 * best first, separated by blanks. NULL where none of ours shows it: not_shown says why, in
	 * a sentence. Every row that something can be written for has one of both; a setting that
	 * waits for a reboot is compared over several boots.
	 */
	const char *shown_by;
	const char *not_shown;
	double settle_s;  /* from the write until its effect is all there; 0: at once */
	double warm_up_s; /* of load before anything counts: what it changes depends on heat */
	bool health;	  /* a precondition: reported before settings, judged in every profile */
	const struct recommendation *opinions;
	size_t n_opinions;
	/* Objects of the scope that the question is about at all; NULL: all. */
	bool (*select)(const struct machine *m, const void *object);
	/* Sentence (and code) when no object is selected: "no ZFS pool"; NULL: follows from the
	 * scope. */
	const char *none, *none_code;
	/* False: not applicable here, *v says why (code and reason). NULL: always applies. */
	bool (*applies)(const struct rule_ctx *q, struct verdict *v);
	/* A target value that depends on facts: fills rel and value (arena), returns false to fall
	 * back to the table of recommendations. */
	bool (*want)(const struct rule_ctx *q, struct recommendation *o);
	/* What a profile file says is wanted, as the value that rules compare: "4 GiB" as bytes.
	 * NULL: wish_form says what it must be. Without it: as it stands. */
	const char *(*wish)(struct arena *a, const char *text);
	const char *wish_form;
	/* The whole rule, for checks that are not "a value compared with its target". A row that
	 * has recommendations as well takes its target value from q->wish, so that a profile file
	 * can change it.
	 */
	void (*judge)(const struct rule_ctx *q, struct verdict *v);
	/* The writes that make it right on this target, for rows with a knob; asked only where the
	 * verdict is FAIL. NULL: the target value (the first of a choice) into the row's knob. */
	void (*remediate)(const struct rule_ctx *q, struct remediations *out);
	/* What a person does where no write of ours makes it right; NULL where there always is one.
	 */
	const char *by_hand;
};

struct setting_table {
	const struct setting *rows;
	size_t n;
};

/* Every row, in the order of topics. */
extern const struct setting_table *const setting_tables[];
extern const size_t setting_table_count;
#define SETTING_FOR_EACH(s)                                                                        \
	for (size_t table_ = 0; table_ < setting_table_count; table_++)                            \
		for (const struct setting *s = setting_tables[table_]->rows;                       \
		     s < setting_tables[table_]->rows + setting_tables[table_]->n; s++)

const struct setting *setting_find(const char *id);
/* The groups of ids, "gpu", in their order; NULL: no more. */
const char *setting_group(size_t i);
/* The nearest group or id, NULL when none is near. */
const char *setting_suggest(const char *id);
/* 0 where the word is the id or the prefix of one; -EINVAL and *e with the nearest id. */
int setting_check(struct err *e, const char *word);

const char *profile_name(enum profile_id p);
const char *profile_purpose(enum profile_id p);
int profile_parse(const char *name); /* -1 when unknown */
const char *scope_name(enum scope s);
const char *verdict_name(enum verdict_kind v);
const char *severity_name(enum severity s);
const char *risk_name(enum risk r);
const char *effect_name(enum effect e);
const char *platform_bit_name(unsigned bit); /* NULL: there is no such bit */
/* What it does to this machine. */
const char *setting_why(const struct setting *s, unsigned platform);

/* Reads one knob through the host interface, so that settings need not know the machine. */
typedef struct fact_str knob_reader(void *ctx, struct arena *a, const struct knob *k);

/* Calls each(object, name, ctx) for every object of the scope that the setting selects. name is
 * what people call it ("gpu0", "nvme0n1"). Returns how many there were. */
size_t setting_subjects(struct arena *a, const struct machine *m, const struct setting *s,
			void (*each)(const void *object, const char *name, void *ctx), void *ctx);
/* The text that replaces "{}" in the knob's name: "0" for policy0, the PCI address for a GPU. */
const char *setting_knob_object(struct arena *a, const struct setting *s, const void *object);
/* One text for several targets: "cpu0-255", "gpu0-7", "nvme0n1 nvme1n1". */
const char *targets_text(struct arena *a, const struct setting *s, const void *const *objects,
			 const char *const *names, size_t n);

/* The current value of a setting on one target, as text, from the facts or from its knob. */

/* wished: the profile has a target value; a knob that is costly to read is not read otherwise.
 */
struct fact_str setting_current(struct arena *a, const struct setting *s, const struct machine *m,
				const void *object, bool wished, knob_reader *read, void *ctx);
/* The knob that holds it on this target; kind KNOB_NONE for a check. */
struct knob setting_knob(struct arena *a, const struct setting *s, const void *object);
/* The same as plans and journals name it: one place, one knob. Where the name says it all, an
 * object would make two of it. */
struct knob setting_place(struct arena *a, const struct setting *s, const void *object);

/* The title behind a key such as "S0"; NULL when the text is a title already. */
const char *source_title(const char *key, unsigned platform);

/* The recommendation for this profile and platform; NULL when the row has none. */
const struct recommendation *setting_recommendation(const struct setting *s, enum profile_id p,
						    unsigned platform);
/* "10", ">= 4096", "none or mq-deadline": a target value as people read it. */
const char *recommendation_text(struct arena *a, const struct recommendation *o, const char *unit);
bool recommendation_met(const struct recommendation *o, const char *current);

/* --- verdict helpers for rules: each returns nothing and fills *v ----------------------------- */
void verdict_pass(struct verdict *v, const char *reason);
void verdict_fail(struct verdict *v, const char *wanted, const char *reason);
/* A failure with its own reason code, for callers that depend on the cause. */
void verdict_fail_by(struct verdict *v, const char *code, const char *wanted, const char *reason);
void verdict_na(struct verdict *v, const char *code, const char *reason);
void verdict_unknown(struct verdict *v, const char *code, const char *reason);
/* The unit of its values, where these name none. */
const char *setting_unit(const struct setting *s);
/* UNKNOWN or NA by how the fact was (not) seen: absent -> NA with absent_reason, denied/error ->
 * UNKNOWN. */
void verdict_unseen(const struct rule_ctx *q, struct verdict *v, const struct fact *f,
		    const char *absent_reason);

/* --- remediation helpers ---------------------------------------------------------------------- */
/* Adds a write to the row's own knob on this target; to another knob. */
void remediate_value(const struct rule_ctx *q, struct remediations *out, const char *value);
void remediate_knob(const struct rule_ctx *q, struct remediations *out, struct knob k,
		    const char *value);
/* The target value; the first word of a choice. */
const char *remediate_target(const struct rule_ctx *q);
void remediate_by_hand(struct remediations *out, const char *sentence);
/* A boot argument of our own. By hand where the command line has it with another value already: a
 * second one would contradict the first. */
void remediate_argument(const struct rule_ctx *q, struct remediations *out, const char *name,
			const char *value);

/* Reason codes, stable: scripts compare them. */
#define CODE_OK "ok"
#define CODE_DIFFERS "differs"
#define CODE_NO_HARDWARE "no-hardware"
#define CODE_INTEGRATED "integrated-gpu"
#define CODE_VIRTUAL "virtual-machine"
#define CODE_NO_SUPPORT "not-supported" /* kernel, driver or chip has no such thing */
#define CODE_LEFT_ALONE "left-alone"	/* the profile has no target value, on purpose */
#define CODE_NOT_IN_PROFILE "not-in-profile"
#define CODE_OPT_IN "opt-in" /* only for a workload that asks for it */
#define CODE_NOT_HERE "not-this-platform"
#define CODE_NO_EFFECT "no-effect"		   /* has no effect in this machine's state */
#define CODE_NEEDS_LOAD "needs-load"		   /* can only be judged while the device works */
#define CODE_NEEDS_DEEP "needs-deep"		   /* asked with --deep only */
#define CODE_NEEDS_EARLIER "needs-earlier-reading" /* a count without an earlier one: --since */
#define CODE_HEAT "too-hot"			   /* failed: heat holds it down */
#define CODE_POWER "power-brake"		   /* failed: hardware pulled the power brake */
#define CODE_WAIVED "waived"
#define CODE_DENIED "no-permission"
#define CODE_NOT_CAPTURED "not-captured"
#define CODE_ERROR "read-error"

/* One table a topic; each is a file of rows and their small functions. */

extern const struct setting_table settings_data_path, settings_firmware;
extern const struct setting_table settings_thermal, settings_memory_state;

extern const struct setting_table settings_gpu, settings_gpu_health, settings_defects, settings_cpu,
	settings_boot, settings_memory, settings_scheduler, settings_disk, settings_zfs,
	settings_net, settings_nic, settings_rdma, settings_pcie, settings_service,
	settings_memory_huge, settings_gpu_clock, settings_gpu_driver, settings_gpu_link,
	settings_nic_function, settings_nic_address, settings_pcie_access, settings_rdma_memory,
	settings_cpu_clock, settings_memory_writeback, settings_boot_isolation, settings_gpu_power,
	settings_nic_queue, settings_gpu_errors, settings_gpu_mode, settings_pcie_rails,
	settings_roce, settings_steering;

#endif
