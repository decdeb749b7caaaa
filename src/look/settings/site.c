/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the site's policy, and says what it lets be done. */
#include "look/settings/site.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

enum { POLICY_BYTES = 256 << 10, GROUPS_MAX = 256 };

struct reading {
	struct profile_file file; /* of the profile's part */
	struct site *site;
};

bool site_is_watch(const char *section, const char *key)
{
	return strcmp(section, "watch") == 0 ||
	       (strcmp(section, "profile") != 0 && strcmp(section, "apply") != 0 &&
		strcmp(section, "agents") != 0 &&
		(strcmp(key, "policy") == 0 || strcmp(key, "limit") == 0));
}

static int limits_key(struct profile_file *f, struct site_limits *l, bool agents, const char *key,
		      const char *value)
{
	struct err e = { 0 };
	bool skip = strcmp(key, "skip") == 0;

	if (skip || strcmp(key, "only") == 0)
		return profile_narrow(f->a, &l->settings, value, skip, &e)
			       ? ini_bad(&f->ini, "%s", e.text)
			       : 1;
	if (strcmp(key, "profiles") == 0) {
		l->profiles = arena_strdup(f->a, value);
	} else if (strcmp(key, "risk") == 0) {
		l->risk = RISK_DANGER;
		while (l->risk >= 0 && strcmp(risk_name((enum risk)l->risk), value) != 0)
			l->risk--;
		if (l->risk < 0)
			return ini_bad(&f->ini, "unknown risk \"%s\"; use %s, %s, %s or %s", value,
				       risk_name(RISK_NONE), risk_name(RISK_LOW),
				       risk_name(RISK_SERVICE), risk_name(RISK_DANGER));
	} else if (!agents && strcmp(key, "users") == 0) {
		l->users = arena_strdup(f->a, value);
	} else if (agents && strcmp(key, "changes") == 0) {
		l->none = strcmp(value, "no") == 0;
		if (!l->none && strcmp(value, "yes") != 0)
			return ini_bad(&f->ini, "changes must be yes or no, not \"%s\"", value);
	} else {
		return ini_bad(&f->ini,
			       "unknown key \"%s\" in [%s]; use %s, profiles, only, skip, risk",
			       key, agents ? "agents" : "apply", agents ? "changes" : "users");
	}
	return 1;
}

static int site_on_key(void *ctx, const char *section, const char *key, const char *value)
{
	struct reading *r = ctx;
	bool agents = strcmp(section, "agents") == 0;

	if (agents || strcmp(section, "apply") == 0)
		return limits_key(&r->file, agents ? &r->site->agents : &r->site->apply, agents,
				  key, value);
	if (site_is_watch(section, key))
		return 1;
	r->site->has_profile = r->site->has_profile || strcmp(section, "profile") == 0;
	return profile_on_key(&r->file, section, key, value);
}

int site_load(struct host *h, struct arena *a, struct site *out, struct err *e)
{
	struct reading r = { .file = { .a = a, .p = &out->profile }, .site = out };
	struct host_stat st = { 0 };
	size_t len = 0;
	char *text;
	int code = host_read(h, SITE_POLICY, POLICY_BYTES, a, &text, &len);

	*out = (struct site){ .profile = { .name = SITE_POLICY },
			      .apply.risk = -1,
			      .agents.risk = -1 };
	if (code == -ENOENT || code == -ENOTDIR || code == HOST_NOT_CAPTURED)
		return 0;
	code = code ? code : host_stat(h, SITE_POLICY, &st);
	if (code)
		return err_set(e, code, "%s: %s", SITE_POLICY, strerror(-code));
	if (!h->id.captured && ((st.uid != 0 && st.uid != h->id.euid) || (st.mode & 022)))
		return err_set(e, -EPERM, "%s: users other than root can write it", SITE_POLICY);
	out->there = true;
	r.file.ini = (struct ini_file){ .path = SITE_POLICY, .e = e };
	code = ini_file_read(&r.file.ini, text, len, site_on_key, &r);
	code = code ? code : profile_check_waivers(&r.file);
	out->profile.within = out->profile.only;
	out->profile.n_within = out->profile.n_only;
	out->profile.only = NULL;
	out->profile.n_only = 0;
	return code;
}

/* --- what it lets be done --------------------------------------------------------------------- */

/* The list's next word, which begins at *at; NULL: none is left. */
static const char *next_of(const char **at, size_t *n)
{
	const char *word = *at + strspn(*at, ", \t");

	*n = strcspn(word, ", \t");
	*at = word + *n;
	return *n ? word : NULL;
}

static bool names_profile(const char *list, const char *name)
{
	const char *word;
	size_t n;

	while ((word = next_of(&list, &n)))
		if (strlen(name) == n && strncmp(name, word, n) == 0)
			return true;
	return false;
}

/* who: "" or " by agents" */
static const char *limit_forbids(struct arena *a, const struct site_limits *l, const char *who,
				 const char *profile, const struct setting *s)
{
	if (l->none)
		return arena_printf(a, "the site's policy forbids changes%s", who);
	if (!profile_selects(&l->settings, s->id))
		return arena_printf(a, "the site's policy forbids changes of %s%s", s->id, who);
	if (l->risk >= 0 && (int)s->risk > l->risk)
		return arena_printf(a, "the site's policy forbids changes%s above risk %s", who,
				    risk_name((enum risk)l->risk));
	/* A plan that was read names none. */
	if (l->profiles && *profile && strcmp(profile, SITE_POLICY) != 0 &&
	    !names_profile(l->profiles, profile))
		return arena_printf(a, "the site's policy forbids the profile %s%s; it has %s",
				    profile, who, l->profiles);
	return NULL;
}

const char *site_forbids(struct arena *a, const struct site *s, bool agent, const char *profile,
			 const struct setting *setting)
{
	const char *why = limit_forbids(a, &s->apply, "", profile, setting);

	return why || !agent ? why : limit_forbids(a, &s->agents, " by agents", profile, setting);
}

static bool in_group(const char *user, const char *name, size_t n)
{
	char group[64];
	gid_t ids[GROUPS_MAX];
	int count = GROUPS_MAX;
	const struct passwd *pw = getpwnam(user);
	const struct group *g;

	if (!pw || n >= sizeof(group))
		return false;
	memcpy(group, name, n);
	group[n] = '\0';
	if (getgrouplist(user, pw->pw_gid, ids, &count) < 0)
		return false;
	g = getgrnam(group);
	for (int i = 0; g && i < count; i++)
		if (ids[i] == g->gr_gid)
			return true;
	return false;
}

bool site_lets_user(const struct site *s, const char *user)
{
	const char *list = s->apply.users, *word;
	size_t n;

	if (!list || strcmp(user, "root") == 0)
		return true;
	while ((word = next_of(&list, &n)))
		if (*word == '@' ? in_group(user, word + 1, n - 1)
				 : strlen(user) == n && strncmp(user, word, n) == 0)
			return true;
	return false;
}

/* The number in a variable that sudo or pkexec sets; below 0: there is none. */
static long long uid_in(const char *variable)
{
	const char *text = getenv(variable);
	long long uid = -1;

	return text && parse_i64(text, &uid) == 0 ? uid : -1;
}

const char *site_caller(struct arena *a)
{
	struct host *live = host_open_live();
	long long uid = -1;
	const struct passwd *pw;
	char line[32];

	if (host_read_line(live, "/proc/self/loginuid", line, sizeof(line)) ||
	    parse_i64(line, &uid) || uid == 0xffffffffLL)
		uid = -1;
	host_close(live);
	if (geteuid() == 0 && uid <= 0)
		uid = uid_in("SUDO_UID") >= 0 ? uid_in("SUDO_UID") : uid_in("PKEXEC_UID");
	uid = uid >= 0 ? uid : (long long)getuid();
	pw = getpwuid((uid_t)uid);
	return pw ? arena_strdup(a, pw->pw_name) : arena_printf(a, "uid %lld", uid);
}
