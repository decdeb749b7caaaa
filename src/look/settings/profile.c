/* SPDX-License-Identifier: Apache-2.0 */
/* Loading profiles: built-in names and INI files, with the line of everything that is wrong. */
#include "look/settings/profile.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

enum { FILE_MAX_BYTES = 1 << 20 };

static void add_patterns(struct arena *a, const char ***list, size_t *n, const char *text)
{
	while (*text) {
		size_t k, len;
		const char *word;

		text += strspn(text, ", \t");
		k = strcspn(text, ",");
		word = str_trim(text, k, &len);
		if (len) {
			ARENA_ADD(a, *list, *n) = arena_strndup(a, word, len);
		}
		text += k;
	}
}

int profile_narrow(struct arena *a, struct profile *p, const char *list, bool skip, struct err *e)
{
	size_t *n = skip ? &p->n_skip : &p->n_only, before = *n;
	const char ***patterns = skip ? &p->skip : &p->only;

	add_patterns(a, patterns, n, list);
	/* From a variable that is not set: to take it for "all" would change all of them. */
	if (!skip && *n == before)
		return err_set(e, -EINVAL, "\"only\" requires ids, and \"%.60s\" names none", list);
	for (size_t i = before; i < *n; i++)
		if (setting_check(e, (*patterns)[i]))
			return -EINVAL;
	return 0;
}

void profile_one(struct arena *a, struct profile *p, const char *id)
{
	add_patterns(a, &p->only, &p->n_only, id);
	p->n_within = 0;
}

static int profile_key(struct profile_file *l, const char *key, const char *value)
{
	struct err e = { 0 };
	int id;

	if (strcmp(key, "base") == 0) {
		id = profile_parse(value);
		if (id < 0)
			return ini_bad(&l->ini, "base \"%s\" is not a built-in profile", value);
		l->p->base = (enum profile_id)id;
		return 1;
	}
	if (strcmp(key, "only") == 0 || strcmp(key, "skip") == 0) {
		if (profile_narrow(l->a, l->p, value, key[0] == 's', &e))
			return ini_bad(&l->ini, "%s%s%s", e.text, e.hint[0] ? "; " : "", e.hint);
		return 1;
	}
	return ini_bad(&l->ini, "unknown key \"%s\" in [profile]; expected base, only, skip", key);
}

/* "10", ">= 10", "<= 10", "not 1", "one of none mq-deadline", "leave" */
static int parse_want(struct profile_file *l, struct profile_override *o, const char *value)
{
	static const struct {
		const char *prefix;
		enum relation rel;
	} forms[] = {
		{ ">=", WANT_AT_LEAST },
		{ "<=", WANT_AT_MOST },
		{ "not ", WANT_NOT },
		{ "one of ", WANT_ONE_OF },
	};
	enum relation rel = WANT_IS;
	long long number;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (str_starts(value, forms[i].prefix)) {
			rel = forms[i].rel;
			value += strlen(forms[i].prefix);
			break;
		}
	value += strspn(value, " ");
	if (!*value)
		return ini_bad(&l->ini, "[%s]: want is empty", o->s->id);
	if (strcmp(value, "leave") == 0)
		rel = WANT_LEAVE;
	if (o->s->wish && rel != WANT_LEAVE) {
		const char *said = value;

		if (!(value = o->s->wish(l->a, said)))
			return ini_bad(&l->ini, "[%s]: want must be %s, not \"%s\"", o->s->id,
				       o->s->wish_form, said);
	}
	if ((rel == WANT_AT_LEAST || rel == WANT_AT_MOST) && parse_i64(value, &number))
		return ini_bad(&l->ini,
			       "[%s]: want must be a whole number after >= or <=, not \"%s\"",
			       o->s->id, value);
	if (o->s->judge && !o->s->n_opinions)
		return ini_bad(&l->ini, "[%s] has no target value to set; it can only be waived",
			       o->s->id);
	if (o->s->n_opinions && o->s->opinions[0].rel != WANT_ONE_OF && rel == WANT_IS &&
	    parse_i64(o->s->opinions[0].value ? o->s->opinions[0].value : "", &number) == 0 &&
	    parse_i64(value, &number))
		return ini_bad(&l->ini, "[%s]: want must be a whole number, not \"%s\"", o->s->id,
			       value);
	o->o = (struct recommendation){ .rel = rel,
					.value = arena_strdup(l->a, value),
					.because = arena_printf(l->a, "requested by %s:%d",
								l->ini.path, l->ini.line) };
	o->has_want = true;
	return 1;
}

static struct profile_override *override_for(struct profile_file *l, const struct setting *s)
{
	struct profile *p = l->p;

	for (size_t i = 0; i < p->n_overrides; i++)
		if (p->overrides[i].s == s)
			return &p->overrides[i];
	p->overrides = arena_grow(l->a, p->overrides, p->n_overrides, sizeof(*p->overrides));
	p->overrides[p->n_overrides] = (struct profile_override){ .s = s, .line = l->ini.line };
	return &p->overrides[p->n_overrides++];
}

static int setting_key(struct profile_file *l, const struct setting *s, const char *key,
		       const char *value)
{
	struct profile_override *o = override_for(l, s);
	long long deadline;

	if (strcmp(key, "want") == 0)
		return parse_want(l, o, value);
	if (strcmp(key, "waive") == 0) {
		if (!*value)
			return ini_bad(&l->ini, "a waiver requires a reason");
		o->waive = arena_strdup(l->a, value);
		return 1;
	}
	if (strcmp(key, "expires") == 0) {
		if (waive_deadline(value, &deadline))
			return ini_bad(&l->ini,
				       "expires must be a date like 2027-01-31, not \"%s\"", value);
		o->expires = arena_strdup(l->a, value);
		return 1;
	}
	if (strcmp(key, "target") == 0) {
		o->target = arena_strdup(l->a, value);
		return 1;
	}
	return ini_bad(&l->ini, "unknown key \"%s\" in [%s]; expected want, waive, expires, target",
		       key, s->id);
}

int profile_on_key(void *user, const char *section, const char *key, const char *value)
{
	struct profile_file *l = user;
	const struct setting *s;
	const char *near;

	if (strcmp(section, "profile") == 0)
		return profile_key(l, key, value);
	if (!*section)
		return ini_bad(&l->ini, "\"%s\" is before any section", key);
	s = setting_find(section);
	if (s)
		return setting_key(l, s, key, value);
	near = setting_suggest(section);
	return ini_bad(&l->ini, "[%s]: unknown setting%s%s%s", section,
		       near ? "; did you mean [" : "", near ? near : "", near ? "]?" : "");
}

int profile_check_waivers(struct profile_file *l)
{
	for (size_t i = 0; i < l->p->n_overrides; i++) {
		const struct profile_override *o = &l->p->overrides[i];

		l->ini.line = o->line;
		if ((o->expires || o->target) && !o->waive)
			ini_bad(&l->ini, "[%s] has %s but no waive", o->s->id,
				o->expires ? "expires" : "target");
	}
	return l->ini.result;
}

static int load_file(struct arena *a, const char *path, struct profile *out, struct err *e)
{
	struct profile_file l = { .a = a,
				  .p = out,
				  .ini = { .path = arena_strdup(a, path), .e = e } };
	TEXT_AUTO t = { 0 };
	int r = fd_read_input(path, FILE_MAX_BYTES, &t);

	if (r)
		return err_set(e, r, "profile %s: %s", path,
			       r == -EFBIG ? "larger than 1 MiB" : strerror(-r));
	r = ini_file_read(&l.ini, t.s, t.len, profile_on_key, &l);
	return r ? r : profile_check_waivers(&l);
}

int profile_load(struct arena *a, const char *name, struct profile *out, struct err *e)
{
	const char *config = geteuid() ? getenv("XDG_CONFIG_HOME") : NULL,
		   *home = geteuid() ? getenv("HOME") : NULL;
	const char *const dirs[] = { config && *config == '/'
					     ? arena_printf(a, "%s/gputune/profiles", config)
				     : home && *home == '/'
					     ? arena_printf(a, "%s/.config/gputune/profiles", home)
					     : "/etc/gputune/profiles",
				     "/etc/gputune/profiles", "/usr/share/gputune/profiles" };
	struct profile p = { .name = arena_strdup(a, name), .base = PROFILE_DEFAULT };
	struct near_word near = near_word_to(name);
	int id = profile_parse(name), r = -ENOENT;

	if (id >= 0) {
		p.base = (enum profile_id)id;
		*out = p;
		return 0;
	}
	if (strchr(name, '/') || str_ends(name, ".ini") || str_ends(name, ".conf")) {
		r = load_file(a, name, &p, e);
	} else {
		for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]) && r == -ENOENT; i++) {
			p.name = arena_printf(a, "%s/%s.ini", dirs[i], name);
			r = load_file(a, p.name, &p, e);
			/* Root, who makes the changes, does not know a user's names. */
			p.name = i == 0 && geteuid() ? p.name : arena_strdup(a, name);
		}
		if (r == -ENOENT) {
			for (enum profile_id i = 0; i < PROFILES; i++)
				near_word_try(&near, profile_name(i), profile_name(i));
			err_set(e, r, "unknown profile \"%s\"", name);
			err_hint_near(e, near.word, "\"gputune profile list\" lists them");
		}
	}
	if (r)
		return r;
	p.within = p.only;
	p.n_within = p.n_only;
	p.only = NULL;
	p.n_only = 0;
	*out = p;
	return 0;
}

static bool selects(const char **patterns, size_t n, const char *id)
{
	bool in = n == 0;

	for (size_t i = 0; i < n && !in; i++)
		in = id_matches(id, patterns[i]);
	return in;
}

bool profile_selects(const struct profile *p, const char *id)
{
	bool in = selects(p->within, p->n_within, id) && selects(p->only, p->n_only, id);

	for (size_t i = 0; i < p->n_skip && in; i++)
		in = !id_matches(id, p->skip[i]);
	return in;
}

static const char *profile_joined(struct arena *a, const char **words, size_t n)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, "");
	for (size_t i = 0; i < n; i++)
		text_printf(&t, "%s%s", i ? "," : "", words[i]);
	return arena_strdup(a, t.s);
}

int profile_check_some(struct arena *a, const struct profile *p, struct err *e)
{
	const char **only = p->n_only ? p->only : p->within;
	size_t n = p->n_only ? p->n_only : p->n_within;
	bool met = false;

	SETTING_FOR_EACH (s) {
		if (profile_selects(p, s->id))
			return 0;
		met = met || (selects(p->within, p->n_within, s->id) &&
			      selects(p->only, p->n_only, s->id));
	}
	if (!met)
		return err_set(e, -EINVAL,
			       "no setting is selected: the profile only has %.120s, and none of "
			       "these matches %.120s",
			       profile_joined(a, p->within, p->n_within),
			       profile_joined(a, only, n));
	err_set(e, -EINVAL, "no setting is selected: \"skip\" (%.120s) removes all of %s%.120s%s",
		profile_joined(a, p->skip, p->n_skip), n ? "\"only\" (" : "them",
		profile_joined(a, only, n), n ? ")" : "");
	err_hint(e, "an id in both is skipped");
	return -EINVAL;
}

const struct profile_override *profile_override_of(const struct profile *p, const struct setting *s)
{
	for (size_t i = 0; i < p->n_overrides; i++)
		if (p->overrides[i].s == s)
			return &p->overrides[i];
	return NULL;
}

/* Waivers and their expiry. */

int waive_deadline(const char *date, long long *out)
{
	struct tm tm = { 0 };
	const char *end = strptime(date, "%Y-%m-%d", &tm);
	struct tm check;
	time_t t;

	if (!end || *end || strlen(date) != 10)
		return -EINVAL;
	check = tm;
	t = timegm(&check);
	/* timegm makes 2027-02-31 the 3rd of March: that is not the date that was written. */
	if (t == (time_t)-1 || check.tm_mday != tm.tm_mday || check.tm_mon != tm.tm_mon)
		return -EINVAL;
	*out = (long long)t + 24 * 60 * 60;
	return 0;
}

void waive(struct arena *a, const struct profile *p, const struct setting *s, const char *target,
	   long long now_s, struct verdict *v)
{
	const struct profile_override *o = profile_override_of(p, s);
	long long deadline;

	if (v->kind != VERDICT_FAIL || !o || !o->waive)
		return;
	if (o->target && fnmatch(o->target, target, 0) != 0)
		return;
	if (o->expires && waive_deadline(o->expires, &deadline) == 0 && now_s >= deadline) {
		v->reason = arena_printf(a, "%s (the waiver \"%s\" expired on %s)", v->reason,
					 o->waive, o->expires);
		return;
	}
	v->kind = VERDICT_NA;
	v->code = CODE_WAIVED;
	v->reason = o->expires ? arena_printf(a, "waived until %s: %s", o->expires, o->waive)
			       : arena_printf(a, "waived: %s", o->waive);
}
