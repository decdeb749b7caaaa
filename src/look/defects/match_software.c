/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves of conditions: packages, libraries, processes, files. */
#include <string.h>

#include "base/text.h"
#include "look/defects/leaf.h"

/* The place's own, and that of the root it lies in. */
static const struct defect_place *place_at(const struct leaf_look *l, size_t i)
{
	return i == 0 ? l->p : i == 1 ? l->p->root : NULL;
}

static const char *where(struct leaf_look *l, const struct defect_place *p, const char *kind,
			 const char *name)
{
	char key[512];
	const char *from;

	snprintf(key, sizeof(key), "%s/%s", kind, name);
	from = key_text(p->where, key);
	return from ? arena_printf(l->a, "%s%s", p->prefix ? p->prefix : "", from) : NULL;
}

/* The dist of that name, whatever CUDA it was built for. */
static json_t *pip_find(struct leaf_look *l, const struct defect_place *p, const char *name,
			const char **full)
{
	static const char *const ends[] = { "", "-cu11", "-cu12", "-cu13", "-cu14" };
	json_t *list = json_object_get(p->holds, "pip");

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char text[256];
		json_t *v;

		snprintf(text, sizeof(text), "%s%s", name, ends[i]);
		v = json_object_get(list, text);
		if (v) {
			*full = arena_strdup(l->a, text);
			return v;
		}
	}
	return NULL;
}

/* "sm_120, sm_121a" */
static const char *text_list(struct arena *a, const json_t *list)
{
	const char *text = "";
	json_t *v;
	size_t i;

	json_array_foreach(list, i, v) text =
		arena_printf(a, "%s%s%s", text, i ? ", " : "", json_string_value(v));
	return text;
}

/* --- packages --------------------------------------------------------------------------------- */

typedef enum answer3 item_rule(struct leaf_look *l, const struct defect_place *p, const json_t *c,
			       const char *kind, const char *name, json_t *value);

/* Calls rule for every item of holds[kind] whose name fits; the first yes ends it. */
static enum answer3 each_item(struct leaf_look *l, const json_t *c, const char *key,
			      const char *kind, item_rule *rule)
{
	enum answer3 best = ANSWER_NO;
	const struct defect_place *p;

	for (size_t i = 0; best != ANSWER_YES && (p = place_at(l, i)); i++) {
		json_t *list = json_object_get(p->holds, kind), *value;
		const char *name;

		if (json_is_null(list))
			best = better(best, unseen(l, kind));
		TEXT_FOR_EACH(pattern, json_object_get(c, key))
		{
			if (!strchr(pattern, '*')) {
				value = json_object_get(list, pattern);
				if (value)
					best = better(best, rule(l, p, c, kind, pattern, value));
				continue;
			}
			json_object_foreach(list, name, value) if (best != ANSWER_YES &&
								   defect_name_fits(pattern, name))
				best = better(best, rule(l, p, c, kind, name, value));
		}
		l->own = l->own || (best == ANSWER_YES && i == 0);
	}
	return best;
}

/* "535.183.01-1" and "570.1": the part before the dash is another version. */
static enum answer3 package_differs(struct leaf_look *l, const char *name, const char *version,
				    const char *other)
{
	bool pip = str_starts(other, "pip:");
	const char *full = other, *theirs;
	int c;

	theirs = json_string_value(pip ? pip_find(l, l->p, other + 4, &full)
				       : machine_has(l, "driver", NULL));
	if (!theirs)
		return pip ? ANSWER_NO : unseen(l, "the NVIDIA driver");
	version = arena_strndup(l->a, version, strcspn(version, "-"));
	if (!order_compare(ORDER_NUMBERS, version, theirs, &c) || c == 0)
		return ANSWER_NO;
	prove(l, arena_printf(l->a, "%s %s, %s %s", name, version, full, theirs), NULL);
	return ANSWER_YES;
}

static enum answer3 package_rule(struct leaf_look *l, const struct defect_place *p, const json_t *c,
				 const char *kind, const char *name, json_t *value)
{
	enum order o = strcmp(kind, "rpms") == 0       ? ORDER_RPM
		       : strcmp(kind, "packages") == 0 ? ORDER_DPKG
						       : ORDER_NUMBERS;
	const char *version = json_string_value(value), *other = key_text(c, "differs_from");
	enum answer3 r = version_in(l, o, json_object_get(c, "version"), version,
				    arena_printf(l->a, "%s %s", kind, name));

	if (r == ANSWER_YES && other)
		r = version ? package_differs(l, name, version, other) : ANSWER_NO;
	if (r == ANSWER_YES)
		prove(l, arena_printf(l->a, "%s %s", name, version), where(l, p, kind, name));
	return r;
}

enum answer3 leaf_package(struct leaf_look *l, const json_t *c)
{
	return better(each_item(l, c, "package", "packages", package_rule),
		      each_item(l, c, "package", "rpms", package_rule));
}

static enum answer3 pip_build(struct leaf_look *l, const struct defect_place *p, const json_t *c,
			      const char *name, const char *version)
{
	const json_t *local = json_object_get(c, "local"), *tag = json_object_get(c, "tag");
	const char *plus = version ? strchr(version, '+') : NULL, *has;

	if (local && !any_fits(local, plus ? plus + 1 : ""))
		return ANSWER_NO;
	if (!tag)
		return ANSWER_YES;
	has = key_text(json_object_get(p->holds, "tags"), name);
	return has ? answer_of(any_fits(tag, has))
		   : unseen(l, arena_printf(l->a, "the target for which %s was built", name));
}

static enum answer3 pip_rule(struct leaf_look *l, const struct defect_place *p, const json_t *c,
			     const char *kind, const char *name, json_t *value)
{
	const char *version = json_string_value(value), *other = key_text(c, "differs_from"), *full;
	enum answer3 r = version_in(l, ORDER_PEP440, json_object_get(c, "version"), version,
				    arena_printf(l->a, "pip %s", name));
	int differs = 0;

	if (r == ANSWER_YES)
		r = pip_build(l, p, c, name, version);
	if (r == ANSWER_YES && other) {
		json_t *v = pip_find(l, p, other, &full);
		const char *theirs = json_string_value(v);

		if (!theirs || !version ||
		    !order_compare(ORDER_PEP440, version, theirs, &differs) || !differs)
			return ANSWER_NO;
		prove(l, arena_printf(l->a, "%s %s", full, theirs), where(l, p, kind, full));
	}
	if (r == ANSWER_YES)
		prove(l, arena_printf(l->a, "%s %s", name, version ? version : ""),
		      where(l, p, kind, name));
	return r;
}

enum answer3 leaf_pip(struct leaf_look *l, const json_t *c)
{
	enum answer3 best = ANSWER_NO;
	bool patterns = false;

	if (json_is_null(json_object_get(l->p->holds, "pip")))
		return unseen(l, "Python packages");
	TEXT_FOR_EACH(name, json_object_get(c, "pip"))
	{
		const char *full = name;
		json_t *v = strchr(name, '*') ? NULL : pip_find(l, l->p, name, &full);

		patterns = patterns || strchr(name, '*');
		if (v && best != ANSWER_YES)
			best = better(best, pip_rule(l, l->p, c, "pip", full, v));
	}
	if (best != ANSWER_YES && patterns)
		return each_item(l, c, "pip", "pip", pip_rule);
	l->own = l->own || best == ANSWER_YES;
	return best;
}

enum answer3 leaf_program(struct leaf_look *l, const json_t *c)
{
	return each_item(l, c, "program", "programs", package_rule);
}

enum answer3 leaf_toolkit(struct leaf_look *l, const json_t *c)
{
	const struct defect_place *p;

	for (size_t i = 0; (p = place_at(l, i)); i++) {
		size_t k;
		json_t *v;

		json_array_foreach(json_object_get(p->holds, "toolkits"), k, v)
		{
			const char *version = json_string_value(v);

			if (version_in(l, ORDER_NUMBERS, json_object_get(c, "toolkit"), version,
				       "a CUDA toolkit") != ANSWER_YES)
				continue;
			l->own = l->own || i == 0;
			prove(l, arena_printf(l->a, "CUDA toolkit %s", version),
			      where(l, p, "toolkits", version));
			return ANSWER_YES;
		}
	}
	return ANSWER_NO;
}

enum answer3 leaf_image(struct leaf_look *l, const json_t *c)
{
	const struct defect_place *p = l->p->root ? l->p->root : l->p;
	const char *image = key_text(p->holds, "image");

	if (!image || !any_fits(json_object_get(c, "image"), image))
		return ANSWER_NO;
	l->own = true;
	prove(l, arena_printf(l->a, "image %s", image), where(l, p, "image", image));
	return ANSWER_YES;
}

/* --- libraries -------------------------------------------------------------------------------- */

/* "GCC: (GNU) 8.5.0" -> 8.5.0 for gcc; "clang version 18.1.3" for clang. NULL: another one. */
static const char *compiler_version(const char *comment, const char *name, char *out, size_t cap)
{
	const char *p = strcmp(name, "gcc") == 0 ? strstr(comment, "GCC: (") : NULL;
	size_t n;

	if (p)
		p = strchr(p, ')');
	else if (strcmp(name, "clang") == 0 && (p = strstr(comment, "clang version")))
		p += strlen("clang version");
	if (!p)
		return NULL;
	p += strcspn(p, "0123456789\n");
	n = strspn(p, "0123456789.");
	if (!n || n >= cap)
		return NULL;
	memcpy(out, p, n);
	out[n] = '\0';
	return out;
}

static json_t *library_value(struct leaf_look *l, const struct defect_place *p, json_t *lib,
			     const char *what)
{
	if (!json_object_get(lib, what) && l->w->fill_library)
		l->w->fill_library(l->w, p, lib, what);
	lib = json_object_get(lib, what);
	return json_is_null(lib) ? NULL : lib;
}

static enum answer3 library_text(struct leaf_look *l, const struct defect_place *p, json_t *lib,
				 const json_t *c, const char *key)
{
	const char *value = json_string_value(library_value(l, p, lib, key));

	if (!value)
		return unseen(l, arena_printf(l->a, "%s of %s", key, key_text(lib, "path")));
	if (!any_fits(json_object_get(c, key), value))
		return ANSWER_NO;
	prove(l, arena_printf(l->a, "its %s: %s", key, value), NULL);
	return ANSWER_YES;
}

/* "gcc <10" */
static enum answer3 library_compiler(struct leaf_look *l, const struct defect_place *p, json_t *lib,
				     const json_t *c)
{
	const char *want = key_text(c, "compiler"), *range, *comment, *version;
	char name[16], text[32];
	size_t n;

	if (!want)
		return ANSWER_YES;
	n = strcspn(want, " ");
	range = want + n;
	snprintf(name, sizeof(name), "%.*s", (int)n, want);
	comment = json_string_value(library_value(l, p, lib, "comment"));
	if (!comment)
		return unseen(l, arena_printf(l->a, "the compiler of %s", key_text(lib, "path")));
	version = compiler_version(comment, name, text, sizeof(text));
	if (!version || order_in(ORDER_NUMBERS, range, version) <= 0)
		return ANSWER_NO;
	prove(l, arena_printf(l->a, "compiled by %s %s", name, version), NULL);
	return ANSWER_YES;
}

/* code: one of them is there; no_code: none is. */
static enum answer3 library_code(struct leaf_look *l, const struct defect_place *p, json_t *lib,
				 const json_t *c)
{
	const json_t *has = json_object_get(c, "code"), *lacks = json_object_get(c, "no_code");
	json_t *codes, *v;
	bool found = false;
	size_t i;

	if (!has && !lacks)
		return ANSWER_YES;
	codes = library_value(l, p, lib, "code");
	if (!codes)
		return unseen(l, arena_printf(l->a, "the GPU code of %s", key_text(lib, "path")));
	json_array_foreach(codes, i, v)
	{
		if (any_fits(lacks, json_string_value(v)))
			return ANSWER_NO;
		found = found || any_fits(has, json_string_value(v));
	}
	/* A file without any code is no library of kernels. */
	if ((has && !found) || !json_array_size(codes))
		return ANSWER_NO;
	prove(l, arena_printf(l->a, "GPU code only for %s", text_list(l->a, codes)), NULL);
	return ANSWER_YES;
}

static enum answer3 library_holds(struct leaf_look *l, const struct defect_place *p, json_t *lib,
				  const char *what, const char *pattern)
{
	json_t *list = json_object_get(lib, what), *v;
	size_t i;

	if (!list && l->w->library_has)
		return l->w->library_has(l->w, p, lib, what, pattern);
	if (!list)
		return ANSWER_UNKNOWN;
	json_array_foreach(list, i, v)
	{
		char open[512];

		snprintf(open, sizeof(open), "*%s*", pattern);
		if (defect_name_fits(strcmp(what, "texts") == 0 ? open : pattern,
				     json_string_value(v)))
			return ANSWER_YES;
	}
	return ANSWER_NO;
}

static enum answer3 library_words(struct leaf_look *l, const struct defect_place *p, json_t *lib,
				  const json_t *c)
{
	static const struct {
		const char *key, *what;
		bool there;
	} rules[] = { { "text", "texts", true },
		      { "no_text", "texts", false },
		      { "symbol", "symbols", true },
		      { "no_symbol", "symbols", false } };

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const json_t *want = json_object_get(c, rules[i].key);
		enum answer3 r = ANSWER_NO;

		if (!want)
			continue;
		TEXT_FOR_EACH(t, want)
		if (r != ANSWER_YES)
			r = better(r, library_holds(l, p, lib, rules[i].what, t));
		if (r == ANSWER_UNKNOWN)
			return unseen(
				l, arena_printf(l->a, "the contents of %s", key_text(lib, "path")));
		if ((r == ANSWER_YES) != rules[i].there)
			return ANSWER_NO;
		prove(l,
		      arena_printf(l->a, "%s \"%s\" in it", rules[i].there ? "" : "no",
				   text_at(want, 0)),
		      NULL);
	}
	return ANSWER_YES;
}

typedef enum answer3 library_rule(struct leaf_look *l, const struct defect_place *p, json_t *lib,
				  const json_t *c);

static enum answer3 library_version(struct leaf_look *l, const struct defect_place *p, json_t *lib,
				    const json_t *c)
{
	const json_t *range = json_object_get(c, "version");
	json_t *v = range ? library_value(l, p, lib, "version") : NULL;

	return version_in(l, ORDER_NUMBERS, range, json_string_value(v),
			  arena_printf(l->a, "library %s", key_text(lib, "path")));
}

static enum answer3 library_labels(struct leaf_look *l, const struct defect_place *p, json_t *lib,
				   const json_t *c)
{
	static const char *const keys[] = { "machine", "comment", "build_id" };
	enum answer3 r = ANSWER_YES;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && r == ANSWER_YES; i++)
		if (json_object_get(c, keys[i]))
			r = library_text(l, p, lib, c, keys[i]);
	return r;
}

/* One file meets all keys; the cheap ones first. */
static enum answer3 library_meets(struct leaf_look *l, const struct defect_place *p, json_t *lib,
				  const json_t *c)
{
	static library_rule *const rules[] = { library_version, library_labels, library_compiler,
					       library_code, library_words };
	const char *path = key_text(lib, "path"), *version, *process;
	size_t before = l->n_proofs;
	enum answer3 all = ANSWER_YES;

	prove(l, path, NULL);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && all != ANSWER_NO; i++) {
		enum answer3 r = rules[i](l, p, lib, c);

		all = r == ANSWER_YES ? all : r;
	}
	if (all != ANSWER_YES) {
		l->n_proofs = before;
		return all;
	}
	version = key_text(lib, "version");
	process = key_text(lib, "process");
	l->proofs[before].text = arena_printf(l->a, "%s%s%s%s%s", path_name(path),
					      version ? " " : "", version ? version : "",
					      !process ? ""
					      : json_is_true(json_object_get(lib, "removed"))
						      ? ", removed, but still run by process "
						      : ", mapped by process ",
					      process ? process : "");
	l->proofs[before].from = arena_printf(l->a, "%s%s", p->prefix ? p->prefix : "", path);
	return all;
}

enum answer3 leaf_library(struct leaf_look *l, const json_t *c)
{
	enum answer3 best = ANSWER_NO;
	const struct defect_place *p;

	for (size_t i = 0; best != ANSWER_YES && (p = place_at(l, i)); i++) {
		json_t *list = json_object_get(p->holds, "libraries"), *lib;
		size_t k;

		if (json_is_null(list))
			best = better(best, unseen(l, "the libraries"));
		json_array_foreach(list, k, lib)
		{
			if (best == ANSWER_YES || !any_fits(json_object_get(c, "library"),
							    path_name(key_text(lib, "path"))))
				continue;
			best = better(best, library_meets(l, p, lib, c));
			l->own = l->own || (best == ANSWER_YES && i == 0);
		}
	}
	return best;
}

/* --- processes, variables, files -------------------------------------------------------------- */

/* " --a b " in " x --a b y " as words; '*' as in names. */
static bool has_words(const char *line, const json_t *patterns)
{
	TEXT_FOR_EACH(p, patterns)
	{
		char open[512];

		snprintf(open, sizeof(open), "* %s *", p);
		if (defect_name_fits(open, line))
			return true;
	}
	return false;
}

/* A process is a line, or an object of "line" and "env". */
static bool process_meets(struct leaf_look *l, const json_t *c, json_t *process)
{
	const char *line = json_is_object(process) ? key_text(process, "line")
						   : json_string_value(process),
		   *name;
	json_t *env = json_object_get(process, "env"), *v;
	size_t n = strcspn(line, " ");
	ARENA_AUTO scratch = { 0 };
	const char *padded;

	if (!any_fits(json_object_get(c, "process"), path_name(arena_strndup(&scratch, line, n))))
		return false;
	padded = arena_printf(&scratch, " %s ", line);
	if (json_object_get(c, "arg") && !has_words(padded, json_object_get(c, "arg")))
		return false;
	if (has_words(padded, json_object_get(c, "no_arg")))
		return false;
	json_object_foreach(json_object_get(c, "env"), name, v)
	{
		const char *is = key_text(env ? env : json_object_get(l->p->holds, "env"), name);

		if (!is || !any_fits(v, is))
			return false;
	}
	prove(l, arena_printf(l->a, "%.120s", line), key_text(process, "from"));
	return true;
}

enum answer3 leaf_process(struct leaf_look *l, const json_t *c)
{
	const struct defect_place *p;

	for (size_t i = 0; (p = place_at(l, i)); i++) {
		json_t *list = json_object_get(p->holds, "processes"), *v;
		size_t k;

		json_array_foreach(list, k, v) if (process_meets(l, c, v))
		{
			l->own = l->own || i == 0;
			return ANSWER_YES;
		}
	}
	return ANSWER_NO;
}

enum answer3 leaf_env(struct leaf_look *l, const json_t *c)
{
	const json_t *is = json_object_get(c, "is"), *set = json_object_get(c, "set");
	const struct defect_place *p;

	TEXT_FOR_EACH(name, json_object_get(c, "env"))
	for (size_t i = 0; (p = place_at(l, i)); i++) {
		const char *v = key_text(json_object_get(p->holds, "env"), name);

		if (v && json_is_false(set))
			return ANSWER_NO;
		if (!v || (is && !any_fits(is, v)))
			continue;
		l->own = l->own || i == 0;
		prove(l, arena_printf(l->a, "%s=%s", name, v), where(l, p, "env", name));
		return ANSWER_YES;
	}
	return answer_of(json_is_false(set));
}

/* In an example the path may be a pattern of what stands there. */
static json_t *file_text(struct leaf_look *l, const struct defect_place *p, const char *path)
{
	json_t *files = json_object_get(p->holds, "files"), *v;
	const char *name;

	if (l->w->fill_file && !json_object_get(files, path))
		l->w->fill_file(l->w, p, path);
	files = json_object_get(p->holds, "files");
	if (!l->w->fill_file)
		json_object_foreach(files, name, v) if (defect_name_fits(path, name)) return v;
	return json_object_get(files, path);
}

/* holds["files"]: the text, false where there is none, null where it cannot be read. */
static enum answer3 file_meets(struct leaf_look *l, const json_t *c, const char *path)
{
	const json_t *contains = json_object_get(c, "contains"),
		     *exists = json_object_get(c, "exists");
	bool relative = str_starts(path, "site-packages/"), found = !contains;
	const struct defect_place *p = relative || !l->p->root ? l->p : l->p->root;
	json_t *text = file_text(l, p, path);

	if (json_is_null(text))
		return unseen(l, path);
	if (json_is_false(exists) || !json_is_string(text))
		return answer_of(json_is_false(exists) && !json_is_string(text));
	TEXT_FOR_EACH(t, contains)
	found = found || defect_signature_in(t, json_string_value(text));
	if (!found)
		return ANSWER_NO;
	l->own = l->own || p == l->p;
	prove(l, contains ? arena_printf(l->a, "\"%s\"", text_at(contains, 0)) : "it is present",
	      arena_printf(l->a, "%s%s", p->prefix ? p->prefix : "", path));
	return ANSWER_YES;
}

enum answer3 leaf_file(struct leaf_look *l, const json_t *c)
{
	enum answer3 best = ANSWER_NO;

	TEXT_FOR_EACH(path, json_object_get(c, "file"))
	if (best != ANSWER_YES)
		best = better(best, file_meets(l, c, path));
	return best;
}
