/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From knobs with values to files that set them at the next boot, each file wholly ours. Pure:
 * facts, values and the texts of others' files in, files out.
 */
#ifndef PERSIST_PERSIST_H
#define PERSIST_PERSIST_H

#include "base/arena.h"
#include "base/text.h"
#include "machine/host/boot_menu.h"
#include "tune/plan/plan.h"

#define PERSIST_SYSCTL "/etc/sysctl.d/99-zz-gputune.conf"
#define PERSIST_TMPFILES "/etc/tmpfiles.d/zz-gputune.conf"
#define PERSIST_UDEV "/etc/udev/rules.d/99-zz-gputune.rules"
#define PERSIST_MODPROBE "/etc/modprobe.d/zz-gputune.conf"
#define PERSIST_MODULES "/etc/modules-load.d/zz-gputune.conf"
#define PERSIST_GRUB BOOT_DROP_IN /* written by the boot-argument knob */
#define PERSIST_NETPLAN "/etc/netplan/90-gputune.yaml"
#define PERSIST_NM "/etc/NetworkManager/conf.d/90-gputune.conf"
#define PERSIST_LIMITS "/etc/security/limits.d/90-gputune.conf"
#define PERSIST_SYSTEM_CONF "/etc/systemd/system.conf.d/90-gputune.conf"
#define PERSIST_REQUEST "/etc/gputune/boot.json"
#define PERSIST_UNIT_NAME "gputune-boot.service"
#define PERSIST_UNIT "/etc/systemd/system/" PERSIST_UNIT_NAME
#define PERSIST_UNIT_LINK "/etc/systemd/system/multi-user.target.wants/" PERSIST_UNIT_NAME
#define PERSIST_REPORT "/var/lib/gputune/boot-report.json"
#define PERSIST_MEMLOCK "memory.memlock"

/* What sets a value at boot. */
enum persist_backend {
	PERSIST_IN_NONE, /* nothing: the row's refusal says why */
	PERSIST_IN_SYSCTL,
	PERSIST_IN_TMPFILES,
	PERSIST_IN_UDEV,
	PERSIST_IN_MODPROBE,
	PERSIST_IN_MODULES, /* modules-load.d */
	PERSIST_IN_BOOT_ARGUMENT,
	PERSIST_IN_LINK,   /* the configuration of who owns the interface */
	PERSIST_IN_UNIT,   /* our boot-time unit */
	PERSIST_IN_LIMITS, /* limits of sessions and services */
	PERSIST_IN_SELF,   /* it outlives a boot by itself: a pool's property, a unit's link */
	KEEPERS,
};

/* A value that shall hold after every boot. */
struct persist_entry {
	const char *id;	    /* of the setting */
	const char *target; /* as a plan calls it; "" for the machine */
	struct knob knob;   /* KNOB_NONE: what only PERSIST_MEMLOCK is */
	const char *value;  /* as machine/knob/io.h has it */
	const char *before; /* what a runtime knob held before anything of ours; NULL: not known */
	const char *device; /* what has to stand there at boot: "15b3:1021" of a PCI function, the
			       address of an interface's function, the name of an idle state; "" */
	enum persist_backend keeper;
	const char *by;	       /* the file; "" */
	const char *refusal;   /* PERSIST_IN_NONE: why; NULL */
	const char *loses;     /* who sets it differently at boot, after us: a sentence; NULL */
	const char *contested; /* who may set it after us, to nobody knows what; NULL */
};

struct persist_file {
	const char *path;
	unsigned mode;
	const char *text;
};

/* A file of somebody else that says how a link is configured, what the boot menu appends, or what
 * limits sessions and services have. */
struct persist_source {
	const char *path, *text;
};

struct persist_target {
	const struct persist_entry *rows; /* keeper, by, refusal and loses are not looked at */
	size_t n;
	const char *program;		      /* the installed gputune: an absolute path */
	const struct persist_source *sources; /* in the order of their names */
	size_t n_sources;
};

struct persist {
	struct persist_entry *rows; /* as in the target */
	size_t n;
	struct persist_file *files; /* in the order of writing; none without a row that is kept */
	size_t n_files;
	const char **notes; /* sentences: what a person should know besides */
	size_t n_notes;
};

void persist_make(struct arena *a, const struct machine *m, const struct persist_target *w,
		  struct persist *out);
const char *persist_backend_name(enum persist_backend k);
/* What keeps the setting's values, for a person. */
const char *persist_keeps(struct arena *a, const struct setting *s);
/* The file that the boot-argument knob writes on this machine. */
const char *persist_boot_file(const struct machine *m);

/* --- the request: what the boot-time unit and verify --boot read ------------------------------ */

extern const struct result_shape boot_result;
/* All rows that are kept as JSON, schema gputune.boot/2; 256 CPUs with one value are one row. */
const char *persist_request(struct arena *a, const struct persist_entry *rows, size_t n);
/* The reverse, strict: bounded, no unknown key, every knob and value valid. Targets are left empty.
 * *e names what is wrong. */
int persist_request_read(struct arena *a, const char *text, size_t len, struct persist_entry **rows,
			 size_t *n, struct err *e);
/* What stands at the knob's place today, as in device; NULL: unknown, "" nothing that could be
 * another. */
const char *persist_device(struct arena *a, const struct machine *m, const struct knob *k);
/*
 * The knob as it is called today: an interface may have another name. NULL and *why: its device is
 * not there, or another one is.
 */
const struct knob *persist_find(struct arena *a, const struct machine *m,
				const struct persist_entry *row, const char **why);

struct persist_targets {
	const struct setting *s;
	struct map_entry *items;
	size_t n, next;
};

/* What the setting calls the target that the knob belongs to on this machine; NULL: the setting has
 * no such knob here. cache is zeroed before the first call. */
const char *persist_target(struct arena *a, const struct machine *m, const char *id,
			   const struct knob *k, struct persist_targets *cache);

/* --- parts, one file each --------------------------------------------------------------------- */

/* file.c: what begins every file, as comments. */
void persist_header(struct text *t, const struct persist_entry *rows, size_t n,
		    enum persist_backend k, const char *path);
void persist_add_file(struct arena *a, struct persist *p, const char *path, unsigned mode,
		      const char *text);
void persist_note(struct arena *a, struct persist *p, const char *sentence);
void persist_refuse(struct persist_entry *row, const char *sentence);
/* link.c: files for the rows of PERSIST_IN_LINK, by owner; hands rows on to the unit where nobody
 * owns the interface. */
void persist_links(struct arena *a, const struct machine *m, const struct persist_target *w,
		   struct persist *p);
/* The id under which netplan's files of others configure the interface, and its section; NULL. */
const char *persist_netplan_id(struct arena *a, const struct persist_target *w, const struct nic *n,
			       const char **section);
/* lose.c: fills loses of every row. */
void persist_losers(struct arena *a, const struct machine *m, const struct persist_target *w,
		    struct persist *p);

#endif
