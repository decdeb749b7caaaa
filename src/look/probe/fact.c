/* SPDX-License-Identifier: Apache-2.0 */
/* Reading single facts through the host interface, and making them. */
#include "look/probe/probe.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { LINE = 4096 };

struct fact fact_seen(const char *dir, const char *leaf)
{
	return (struct fact){ .seen = SEEN_OK, .dir = dir && *dir ? dir : NULL, .leaf = leaf };
}

struct fact fact_unseen(int r, const char *dir, const char *leaf)
{
	return (struct fact){ .seen = seen_from_errno(r),
			      .err = abs(r),
			      .dir = dir && *dir ? dir : NULL,
			      .leaf = leaf };
}

struct fact_int fact_int_of(long long v, const char *dir, const char *leaf)
{
	return (struct fact_int){ .f = fact_seen(dir, leaf), .v = v };
}

struct fact_str fact_str_of(const char *v, const char *dir, const char *leaf)
{
	return (struct fact_str){ .f = fact_seen(dir, leaf), .v = v };
}

static int leaf_path(const char *dir, const char *leaf, char *path, size_t cap)
{
	size_t n = strlen(dir), k = strlen(leaf);

	if (n + k >= cap)
		return -ENAMETOOLONG;
	memcpy(path, dir, n);
	memcpy(path + n, leaf, k + 1);
	return 0;
}

int probe_line(struct probe *p, const char *dir, const char *leaf, char *buf, size_t cap)
{
	char path[HOST_PATH_MAX];
	int r = leaf_path(dir, leaf, path, sizeof(path));

	return r ? r : host_read_line(p->h, path, buf, cap);
}

bool probe_has(struct probe *p, const char *dir, const char *leaf)
{
	char path[HOST_PATH_MAX];

	return leaf_path(dir, leaf, path, sizeof(path)) == 0 && host_exists(p->h, path);
}

bool probe_lacks(struct probe *p, const char *dir, const char *leaf)
{
	char path[HOST_PATH_MAX];
	enum host_kind kind;

	return leaf_path(dir, leaf, path, sizeof(path)) == 0 &&
	       host_kind(p->h, path, &kind) == -ENOENT;
}

struct fact_str probe_str(struct probe *p, const char *dir, const char *leaf)
{
	char buf[LINE];
	int r = probe_line(p, dir, leaf, buf, sizeof(buf));

	if (r)
		return (struct fact_str){ .f = fact_unseen(r, dir, leaf) };
	return fact_str_of(arena_strdup(p->a, buf), dir, leaf);
}

struct fact_int probe_int(struct probe *p, const char *dir, const char *leaf)
{
	char buf[LINE];
	long long v = 0;
	int r = probe_line(p, dir, leaf, buf, sizeof(buf));

	if (r == 0 && parse_i64(buf, &v))
		r = -EPROTO;
	if (r)
		return (struct fact_int){ .f = fact_unseen(r, dir, leaf) };
	return fact_int_of(v, dir, leaf);
}

struct fact_int probe_hex(struct probe *p, const char *dir, const char *leaf)
{
	char buf[LINE];
	unsigned long long v = 0;
	int r = probe_line(p, dir, leaf, buf, sizeof(buf));

	if (r == 0 && parse_hex(buf, &v))
		r = -EPROTO;
	if (r)
		return (struct fact_int){ .f = fact_unseen(r, dir, leaf) };
	return fact_int_of((long long)v, dir, leaf);
}

struct fact_set probe_set(struct probe *p, const char *dir, const char *leaf)
{
	char buf[LINE];
	struct fact_set out = { 0 };
	int r = probe_line(p, dir, leaf, buf, sizeof(buf));

	/* "(null)" is what some kernels print for an empty nohz_full list. */
	if (r == 0 && strcmp(buf, "(null)") == 0)
		buf[0] = '\0';
	/* The kernel reads strides ("0-99:1/2") and never prints one: a short text would make a
	 * large set. */
	if (r == 0 && strchr(buf, ':'))
		r = -EPROTO;
	if (r == 0 && idset_parse(p->a, buf, &out.v))
		r = -EPROTO;
	out.f = r ? fact_unseen(r, dir, leaf) : fact_seen(dir, leaf);
	return out;
}

struct fact_str probe_there(struct probe *p, const char *path, const char *word)
{
	enum host_kind kind;
	int r = host_kind(p->h, path, &kind);

	return r ? (struct fact_str){ .f = fact_unseen(r, "", path) } : fact_str_of(word, "", path);
}

struct fact_str probe_choice(struct probe *p, const char *dir, const char *leaf, const char **all)
{
	struct fact_str out = probe_str(p, dir, leaf);
	const char *open, *close;
	char *words;
	size_t n = 0;

	if (all)
		*all = NULL;
	if (!seen_ok(&out.f))
		return out;
	open = strchr(out.v, '[');
	close = open ? strchr(open, ']') : NULL;
	if (all) {
		words = arena_strdup(p->a, out.v);
		for (const char *c = out.v; *c; c++)
			if (*c != '[' && *c != ']')
				words[n++] = *c;
		words[n] = '\0';
		*all = words;
	}
	if (close)
		out.v = arena_strndup(p->a, open + 1, (size_t)(close - open - 1));
	return out;
}

struct fact_str probe_link_name(struct probe *p, const char *dir, const char *leaf)
{
	char path[HOST_PATH_MAX], target[HOST_PATH_MAX];
	int r = leaf_path(dir, leaf, path, sizeof(path));

	if (r == 0)
		r = host_link(p->h, path, target, sizeof(target));
	if (r)
		return (struct fact_str){ .f = fact_unseen(r, dir, leaf) };
	return fact_str_of(arena_strdup(p->a, path_name(target)), dir, leaf);
}

void probe_differ(struct probe *p, const char *name, const char *fact, const struct fact_str *taken,
		  const struct fact_str *other)
{
	struct disagreement *x;

	if (!seen_ok(&taken->f) || !seen_ok(&other->f) || strcmp(taken->v, other->v) == 0)
		return;
	x = list_add(p->a, &p->m->disagreements, sizeof(*x));
	*x = (struct disagreement){ name, fact, *taken, *other };
}

void probe_differ_int(struct probe *p, const char *name, const char *fact,
		      const struct fact_int *taken, const struct fact_int *other)
{
	struct fact_str x = { .f = taken->f }, y = { .f = other->f };

	if (!seen_ok(&x.f) || !seen_ok(&y.f) || taken->v == other->v)
		return;
	x.v = arena_printf(p->a, "%lld", taken->v);
	y.v = arena_printf(p->a, "%lld", other->v);
	probe_differ(p, name, fact, &x, &y);
}

/* Whether text is word and a blank, and what is behind them. */
static const char *behind_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	return strncmp(text, word, n) == 0 && text[n] == ' ' ? text + n + 1 : NULL;
}

/* "api object ". An object is asked many questions in a row: its facts share one text. */
static const char *ask_dir(struct probe *p, const char *api, const char *object)
{
	const char *rest = p->asked ? behind_word(p->asked, api) : NULL;

	if (rest && *object)
		rest = behind_word(rest, object);
	if (!rest || *rest)
		p->asked = *object ? arena_printf(p->a, "%s %s ", api, object)
				   : arena_printf(p->a, "%s ", api);
	return p->asked;
}

struct fact_int probe_ask_int(struct probe *p, const char *api, const char *object,
			      const char *field)
{
	long long v = 0;
	int r = host_ask_int(p->h, api, object, field, &v);
	const char *dir = ask_dir(p, api, object);

	if (r)
		return (struct fact_int){ .f = fact_unseen(r, dir, field) };
	return fact_int_of(v, dir, field);
}

struct fact_str fact_filled(struct fact_str f)
{
	if (seen_ok(&f.f) && !*f.v)
		f.f = fact_unseen(-EPROTO, f.f.dir, f.f.leaf);
	return f;
}

struct fact_str probe_ask_str(struct probe *p, const char *api, const char *object,
			      const char *field)
{
	struct answer ans;
	int r = host_ask(p->h, api, object, field, &ans);
	const char *dir = ask_dir(p, api, object), *text;
	size_t n;

	if (r == 0 && ans.kind != ANSWER_TEXT)
		r = -EPROTO;
	if (r)
		return (struct fact_str){ .f = fact_unseen(r, dir, field) };
	/* Versions of firmware come with blanks around them. */
	text = str_trim(ans.text, strlen(ans.text), &n);
	return fact_str_of(arena_strndup(p->a, text, n), dir, field);
}
