/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts as each format of a configuration file takes them. NULL: the format has no way to say it,
 * and *why (when given) gets the sentence.
 */
#ifndef PERSIST_QUOTE_H
#define PERSIST_QUOTE_H

#include "base/arena.h"

/* The value of a line of sysctl.d. */
const char *quote_sysctl(struct arena *a, const char *s, const char **why);
/* The path, and the argument, of a "w" line of tmpfiles.d. */
const char *quote_tmpfiles_path(struct arena *a, const char *s, const char **why);
const char *quote_tmpfiles(struct arena *a, const char *s, const char **why);
/* An assigned value of a udev rule, with its quotes; and a pattern that matches exactly s. */
const char *quote_udev(struct arena *a, const char *s, const char **why);
const char *quote_udev_match(struct arena *a, const char *s, const char **why);
/* "NAME=VALUE" of an options line of modprobe.d. */
const char *quote_modprobe(struct arena *a, const char *name, const char *value, const char **why);
/* A double-quoted scalar. */
const char *quote_yaml(struct arena *a, const char *s, const char **why);
/* A word of a command line of a unit. */
const char *quote_unit(struct arena *a, const char *s, const char **why);
/* An interface's name where a list of patterns stands: NetworkManager, networkd. */
const char *quote_interface(struct arena *a, const char *s, const char **why);

#endif
