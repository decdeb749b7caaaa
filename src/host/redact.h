/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing what identifies a machine or its owner by pseudonyms that are the same wherever the
 * same secret stands, so that "this MAC is that one" survives: MAC addresses, UUIDs, InfiniBand
 * GUIDs, IP addresses in interface answers, host names, serial numbers, user names in home folders.
 * PCI addresses, versions and figures stay.
 */
#ifndef HOST_REDACT_H
#define HOST_REDACT_H

#include "base/map.h"
#include "base/text.h"

struct redactor {
	struct arena *arena;
	const char *nodename; /* replaced by "host" where it stands as a word; shorter than 3
				 letters: left */
	struct map macs, uuids, guids, words, subnets, hosts;
};

/* The text with its secrets replaced, in arena memory; *len is updated. Bytes that are no text are
 * left as they are. */
char *redact_text(struct redactor *r, const char *s, size_t *len);
/* Also IPv4 and IPv6 addresses: for answers that hold addresses and little else. */
char *redact_addresses(struct redactor *r, const char *s);
/* True for files whose whole content is a serial number or asset tag. */
bool redact_is_secret_file(const char *path);
/* PCI configuration space: zeroes the device serial number capability in place. */
void redact_config_space(unsigned char *config, size_t len);

#endif
