/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A partial capture of what owners post: the log of nvidia-bug-report.sh, an archive of sosreport,
 * or a text with lspci and nvidia-smi. What a source does not show is not in the capture, so that
 * every rule answers "unknown" there, never "absent". The sources may be hostile: sizes are
 * bounded, paths are plain and below the folders that are named here.
 */
#ifndef HOST_POSTED_H
#define HOST_POSTED_H

#include "machine/host/record.h"

enum {
	POSTED_TEXT_MAX = 32 << 20, /* of a text, unpacked */
	POSTED_ARCHIVE_MAX = 512 << 20,
	POSTED_FUNCTIONS_MAX = 4096,
	POSTED_GPUS_MAX = 64
};

/* A PCI function as lspci prints it; -1 and "" for what it did not print. */
struct posted_function {
	char address[16]; /* 0000:01:00.0 */
	int vendor, device, subvendor, subdevice, class_, revision;
	int numa, group, secondary, subordinate;
	bool is_virtual;
	char driver[32];
	struct posted_link {
		double gts;
		int width;
	} now, most;
	unsigned char *config; /* NULL: no hex dump */
	size_t config_len;
};

struct posted {
	struct arena *arena;
	struct host *record;
	struct posted_function *functions;
	size_t n_functions;
	struct map by_address;
	/* A listing of all functions was read; of some, its command names a filter. */
	bool all_functions, drivers_shown;
	size_t gpus, files; /* seen by nvidia-smi; files of /proc, /sys and the like */
	bool refused;	    /* somebody was refused what only root may read */
	struct posted_smi {
		char path[3][48]; /* names of the sections that a line stands in, by depth */
		int indent[3], depth, gpu;
		long long reasons; /* of the clock, bits; -1: none printed */
		int row;	   /* of the table: the GPU whose second line follows; -1 */
	} smi;
};

struct posted *posted_open(struct arena *a);
/* -errno and *e: it cannot be read, or nothing of it is known. */
int posted_add(struct posted *p, const char *path, struct err *e);
/* The record of all that was added, to save and close. -ENODATA and *e when that is nothing. */
int posted_finish(struct posted *p, struct host **out, struct err *e);
void posted_close(struct posted *p);
/* The same as a captured machine that can be asked. NULL and *e as above. */
struct host *posted_machine(struct posted *p, struct err *e);

/* Its parts; for posted.c and tests. */

/* The text is changed: its lines end in NUL. whole: lspci was asked for all functions. */
void posted_text(struct posted *p, char *text, size_t len, bool whole);
/* A line of lspci; at: the function that the lines before were about, or NULL. Returns the one that
 * this line is about; NULL: the line is no part of lspci's output. */
struct posted_function *posted_lspci_line(struct posted *p, const char *line,
					  struct posted_function *at);
/* What was printed of all functions becomes folders of sysfs. */
void posted_lspci_finish(struct posted *p);
/* A line of "nvidia-smi -q"; false: it is none. */
bool posted_smi_line(struct posted *p, const char *line);
/* The report of "nvidia-smi -q -x", which begins at s with its outermost element. Returns the place
 * behind it; end: it is cut short or none. Defines and expands nothing. */
const char *posted_smi_xml(struct posted *p, const char *s, const char *end);
/* A line of nvidia-smi's table; false: it is none. */
bool posted_smi_table(struct posted *p, const char *line);
void posted_smi_finish(struct posted *p);

#endif
