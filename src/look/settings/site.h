/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A site's policy, one file for every part of the program: the profile that counts where none is
 * named, waivers with their end, who may change this machine and what, and what agents may. What it
 * says to gputune watch is read by watch. The manual gputune-profile(5) has the keys.
 */
#ifndef SETTINGS_SITE_H
#define SETTINGS_SITE_H

#include "look/settings/profile.h"
#include "machine/host/host.h"

#define SITE_POLICY "/etc/gputune/policy.ini"

/* Of [apply] and [agents]. */
struct site_limits {
	const char *users;	 /* names and @groups, by commas; NULL: any root */
	const char *profiles;	 /* by commas; NULL: any */
	struct profile settings; /* only and skip */
	int risk;		 /* the highest; below 0: any */
	bool none;		 /* changes = no */
};

struct site {
	bool there;
	bool has_profile;	/* it wants something itself: [profile] */
	struct profile profile; /* of [profile] and the settings' sections */
	struct site_limits apply, agents;
};

/* One that is not there is empty. -EINVAL with the line in *e; -EPERM: others than root may
 * write it. */
int site_load(struct host *h, struct arena *a, struct site *out, struct err *e);
/* Why the policy keeps a setting from being changed with this profile: a sentence; NULL: it does
 * not. agent: the change was asked for through gputune mcp, too. */
const char *site_forbids(struct arena *a, const struct site *s, bool agent, const char *profile,
			 const struct setting *setting);
/* Whether the user may apply and undo. root, who can write the policy, always may. */
bool site_lets_user(const struct site *s, const char *user);
/* The person whose process this is: of the login, of sudo or pkexec, or the user's own name. */
const char *site_caller(struct arena *a);
/* Whether [watch] and its keys of settings are read by watch: 1; other sections of the policy: 0.
 */
bool site_is_watch(const char *section, const char *key);

#endif
