/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes: from the host interface to facts. One file a subject. A probe never fails and never
 * judges; what it could not see stands in the fact. It reads as little as the fact needs, and in
 * the order of directories, because backends keep the last directory at hand.
 */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include "machine/host/host.h"
#include "machine/model/machine.h"

struct text;

struct probe {
	struct host *h;
	struct arena *a;
	struct machine *m;
	/* Ask what costs noticeable time: cuInit for CUDA attributes. */
	bool deep;
	/* Leave out what no rule reads and what costs a millisecond and more a GPU: clocks and
	 * power of the moment, their tables, firmware versions. For a check of a machine with many
	 * GPUs. */
	bool lean;
	/* Read what configures the machine, some hundred files: for plan, status and capture. */
	bool config;
	/* Find the connection that the user came in over: for plan and apply. Says who is
	 * connected, so not for captures. */
	bool session;
	/* probe.c's own: where the last question was asked. */
	const char *asked;
};

/* Fills a zeroed machine. Subjects run in this order because later ones look at earlier ones. */
void probe_machine(struct probe *p);

void probe_kernel(struct probe *p); /* identity, kernel, command line, boot security */
void probe_cpu(struct probe *p);
void probe_power(struct probe *p);
void probe_memory(struct probe *p);
void probe_pci(struct probe *p);
void probe_gpu(struct probe *p);
void probe_nic(struct probe *p);      /* interfaces */
void probe_rdma(struct probe *p);     /* RDMA ports and modules */
void probe_roce(struct probe *p);     /* what keeps RoCE from losing packets; adapters' firmware */
void probe_disk(struct probe *p);     /* block devices */
void probe_fs(struct probe *p);	      /* mounts, ZFS */
void probe_sensors(struct probe *p);  /* temperatures and power supplies; after GPUs and PCI */
void probe_software(struct probe *p); /* distribution, services, libraries */
void probe_platform(struct probe *p); /* which kind of machine; last */
void probe_config(struct probe *p);   /* who sets what, when p->config */
/*
 * Adds what a profile of tuned sets, its includes' before its own, to m->config.assignments: by its
 * name, or by the path (with a slash) of its folder or tuned.conf, beside which included ones are
 * looked for first. left gets a line "FILE:LINE: ..." for each without a place. False: it cannot be
 * read. See tuned.conf(5).
 */
bool probe_tuned(struct probe *p, const char *what, struct text *left);
void probe_session(struct probe *p); /* the user's own connection, when p->session */

/* --- reading one fact ------------------------------------------------------------------------- */
/*
 * dir ends with "/" (or is "" with an absolute leaf) and must outlive the machine (arena or
 * literal), so must leaf. Text is trimmed of its newline. A number that does not parse is
 * SEEN_ERROR with EPROTO.
 */
struct fact_str probe_str(struct probe *p, const char *dir, const char *leaf);
struct fact_int probe_int(struct probe *p, const char *dir, const char *leaf);
struct fact_int probe_hex(struct probe *p, const char *dir, const char *leaf); /* "0x15b3" */
struct fact_set probe_set(struct probe *p, const char *dir, const char *leaf);
/* The word, where a file or folder is there. */
struct fact_str probe_there(struct probe *p, const char *path, const char *word);
/* The word in brackets of "always [madvise] never"; *all (may be NULL) gets the words without
 * brackets. */
struct fact_str probe_choice(struct probe *p, const char *dir, const char *leaf, const char **all);
/* The line itself, for what is no fact of its own: as host_read_line. */
int probe_line(struct probe *p, const char *dir, const char *leaf, char *buf, size_t cap);
/* As host_exists. */
bool probe_has(struct probe *p, const char *dir, const char *leaf);
/* It is known not to be there: neither is true of what nobody may see. */
bool probe_lacks(struct probe *p, const char *dir, const char *leaf);
/* Last component of a link's target ("mlx5_core" of .../driver). */
struct fact_str probe_link_name(struct probe *p, const char *dir, const char *leaf);
/* Asks a provider. from reads "api object field". */
struct fact_int probe_ask_int(struct probe *p, const char *api, const char *object,
			      const char *field);
struct fact_str probe_ask_str(struct probe *p, const char *api, const char *object,
			      const char *field);
/* A text of blanks alone is no answer. */
struct fact_str fact_filled(struct fact_str f);

/* Notes that two sources of a fact differ, where both were read: struct disagreement. */
void probe_differ(struct probe *p, const char *name, const char *fact, const struct fact_str *taken,
		  const struct fact_str *other);
void probe_differ_int(struct probe *p, const char *name, const char *fact,
		      const struct fact_int *taken, const struct fact_int *other);

/* --- making facts ----------------------------------------------------------------------------- */
struct fact fact_seen(const char *dir, const char *leaf);
struct fact fact_unseen(int r, const char *dir,
			const char *leaf); /* r: negative errno of the host interface */
struct fact_int fact_int_of(long long v, const char *dir, const char *leaf);
struct fact_str fact_str_of(const char *v, const char *dir, const char *leaf);

/* --- parts of probes that others use ---------------------------------------------------------- */

/*
 * NVML's "00000000:18:00.0" as the kernel writes it, "0000:18:00.0", in arena memory: lower case,
 * at least four digits of domain. NULL when it is no address, or the all-ones that stands for "not
 * visible".
 */
char *gpu_address(struct arena *a, const char *busid);

/* PCI address of the function that a class device hangs from, "" when there is none. dir is the
 * class folder's link with a "/" at its end: "/sys/class/net/eth0/". */
const char *class_device_pci(struct probe *p, const char *dir);

/* What PCI configuration space says, from bytes: len is 64, 256 or 4096 as the kernel gave it.
 * False when it is not believable; the facts then say why. */
bool pci_config_parse(struct pci_function *f, const unsigned char *config, size_t len,
		      const char *dir);

/* Names from the system's pci.ids, 1.3 MB, for functions that have none yet. Not part of
 * probe_machine(). */
void pci_names_fill(struct probe *p);
/* The short name of a device that this program is about, NULL for others. */
const char *pci_known_name(const struct pci_function *f);

/* What the driver was loaded with, and what looks after the fabric and shares GPUs. */
void probe_gpu_host(struct probe *p);

/* The services that set what gputune judges, and those that its users' machines were left with. */
void probe_services(struct probe *p);

#endif
