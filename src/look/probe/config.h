/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the configuration probe share: which files are read and in which order, lines,
 * words, and adding an assignment. Everything is bounded: these files are an administrator's, or a
 * capture's, and may hold anything.
 */
#ifndef PROBE_CONFIG_H
#define PROBE_CONFIG_H

#include "base/text.h"
#include "look/probe/probe.h"

/* Later layers write over earlier ones at boot. */
enum config_layer {
	LAYER_NONE,	   /* no effect at boot */
	LAYER_BOOT,	   /* kernel arguments */
	LAYER_MODULE,	   /* options of modules */
	LAYER_TUNED_EARLY, /* sysctls of tuned, which applies those of the system after its own */
	LAYER_SYSCTL_GLOB, /* a pattern gives way to a line that names the key, wherever it stands
			    */
	LAYER_SYSCTL,
	LAYER_TMPFILES,
	LAYER_UDEV,
	LAYER_TUNED,
	LAYER_NETWORKD,
};

enum {
	CONFIG_FILE_MAX = 256 * 1024,  /* bytes of one file */
	CONFIG_BYTES_MAX = 16 << 20,   /* of all */
	CONFIG_LINE_MAX = 8192,	       /* a longer line is left out */
	CONFIG_ASSIGNMENTS_MAX = 8192, /* of all files */
	CONFIG_UNREAD_MAX = 32,	       /* files named as not read */
};

struct config_reader {
	struct probe *p;
	size_t bytes; /* read so far */
	size_t n_unread;
	struct text unread;
	/* Where the line at hand stands. */
	const char *file;
	unsigned line;
	unsigned n; /* assignments so far */
};

/* Lines of a text, changed in place. */
struct config_lines {
	char *next;
	unsigned line;
	const char *comment; /* characters that begin a comment line */
};

/*
 * The paths of the files whose names end in suffix, by the rule of systemd's .d folders: a name in
 * an earlier folder hides the same name in later ones, and files are read in the order of their
 * names. A link to /dev/null hides a name and is not in the list.
 */
char **config_files(struct config_reader *r, const char *const *folders, size_t n_folders,
		    const char *suffix, size_t *n);
/* The text of a file, with lines that end in a backslash joined where joined says so; NULL and a
 * note in unread when it is there and cannot be read. Sets r->file. */
char *config_text(struct config_reader *r, const char *path, bool joined);
/* The next line that is no comment, trimmed; lines with control characters or beyond bounds are
 * left out. NULL at the end. Sets r->line. */
char *config_line(struct config_reader *r, struct config_lines *l);
/* The next word of *at, ended in place; blanks within double quotes do not end it. NULL at the end.
 */
char *config_word(char **at);
/* s without one pair of quotes around it, in place. */
char *config_unquote(char *s);
/* Adds a line's assignment; value NULL: none shall be set. Returns NULL when there are too many. */
struct assignment *config_add(struct config_reader *r, const char *kind, enum config_layer layer,
			      const char *key, const char *value);
/* The kinds and keys of machine/model/machine.h for a path below /proc/sys, /sys/module or /sys. */
struct assignment *config_add_path(struct config_reader *r, enum config_layer layer,
				   const char *path, const char *value);
/* One kernel argument "name=value" or "name". */
void config_add_argument(struct config_reader *r, char *word);

void config_udev(struct config_reader *r);

#endif
