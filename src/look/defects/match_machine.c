/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves of conditions: kernel, driver, firmware, devices, facts. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "look/defects/leaf.h"

static const char *json_dumped(struct arena *a, const json_t *v)
{
	char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
	const char *kept = text ? arena_printf(a, "%.80s", text) : "";

	free(text);
	return kept;
}

enum answer3 leaf_driver(struct leaf_look *l, const json_t *c)
{
	json_t *driver = machine_has(l, "driver", NULL);
	const char *version = json_string_value(driver),
		   *modules = json_string_value(machine_has(l, "modules", NULL));
	const json_t *range = json_object_get(c, "driver"), *want = json_object_get(c, "modules");
	enum answer3 r = json_is_false(driver) ? ANSWER_NO
					       : version_in(l, ORDER_NUMBERS, range, version,
							    "the NVIDIA driver");

	if (r == ANSWER_YES && want)
		r = modules ? answer_of(any_fits(want, modules))
			    : unseen(l, "the driver's kernel modules");
	if (r == ANSWER_YES)
		prove(l,
		      arena_printf(l->a, "driver %s%s%s", version ? version : "",
				   modules ? ", modules " : "", modules ? modules : ""),
		      NULL);
	return r;
}

/* "6.17.0-1014-nvidia": the numbers, and what stands behind them. */
static const char *kernel_flavour(struct arena *a, const char *release, const char **version)
{
	size_t n = 0;

	while (release[n] && (isdigit((unsigned char)release[n]) || release[n] == '.' ||
			      (release[n] == '-' && isdigit((unsigned char)release[n + 1]))))
		n++;
	*version = arena_strndup(a, release, n);
	return release + n + (release[n] == '-');
}

enum answer3 leaf_kernel(struct leaf_look *l, const json_t *c)
{
	const char *release = json_string_value(machine_has(l, "kernel", NULL)), *version, *flavour;
	const json_t *want = json_object_get(c, "flavour");
	enum answer3 r;

	if (!release)
		return unseen(l, "the kernel's version");
	flavour = kernel_flavour(l->a, release, &version);
	r = version_in(l, ORDER_NUMBERS, json_object_get(c, "kernel"), version, "the kernel");
	if (r == ANSWER_YES && want && !any_fits(want, flavour))
		return ANSWER_NO;
	if (r == ANSWER_YES)
		prove(l, arena_printf(l->a, "kernel %s", release), "uname -r");
	return r;
}

enum answer3 leaf_config(struct leaf_look *l, const json_t *c)
{
	const char *name = key_text(c, "kernel_config"), *v;
	json_t *all = machine_has(l, "config", NULL);

	if (!all)
		return unseen(l, "the kernel's configuration");
	v = key_text(all, name);
	v = v ? v : "n";
	if (!any_fits(json_object_get(c, "is"), v))
		return ANSWER_NO;
	prove(l, arena_printf(l->a, "%s=%s", name, v), key_text(all, "from"));
	return ANSWER_YES;
}

static bool array_has(const json_t *list, const json_t *patterns, const char **which)
{
	size_t i;
	json_t *v;

	json_array_foreach(list, i,
			   v) if (json_is_string(v) && any_fits(patterns, json_string_value(v)))
	{
		*which = json_string_value(v);
		return true;
	}
	return false;
}

/* One of a list of the machine's. */
enum answer3 leaf_list(struct leaf_look *l, const json_t *c)
{
	static const struct {
		const char *leaf, *key, *what;
	} lists[] = { { "platform", "platform", "the platform" },
		      { "product", "product", "computing the product" },
		      { "gpu_name", "gpu_names", "GPU" },
		      { "cpu", "cpu", "the processor" },
		      { "pci", "pci", "PCI device" } };
	const char *which;
	size_t i = 0;
	json_t *v;

	while (!json_object_get(c, lists[i].leaf))
		i++;
	v = machine_has(l, lists[i].key, NULL);
	which = json_string_value(v);
	if (!v)
		return unseen(l, lists[i].what);
	if (which ? !any_fits(json_object_get(c, lists[i].leaf), which)
		  : !array_has(v, json_object_get(c, lists[i].leaf), &which))
		return ANSWER_NO;
	prove(l, arena_printf(l->a, "%s %s", lists[i].what, which), NULL);
	return ANSWER_YES;
}

/* A list of numbers, or an object of those that were looked for. */
enum answer3 leaf_fix(struct leaf_look *l, const json_t *c)
{
	const char *id = key_text(c, "kernel_fix"), *which;
	json_t *all = machine_has(l, "fixes", id),
	       *v = json_is_object(all) ? json_object_get(all, id) : NULL;

	if (!all || json_is_null(v))
		return unseen(l, "the kernel's changelog");
	if (v ? !json_is_true(v) : !array_has(all, json_object_get(c, "kernel_fix"), &which))
		return ANSWER_NO;
	prove(l, arena_printf(l->a, "the kernel's changelog names %s", id), NULL);
	return ANSWER_YES;
}

enum answer3 leaf_gpu(struct leaf_look *l, const json_t *c)
{
	json_t *list = machine_has(l, "gpus", NULL), *v;
	const json_t *range = json_object_get(c, "count");
	const char *which = "";
	size_t i, n = 0;
	char text[24];

	if (!list)
		return unseen(l, "the machine's GPUs");
	json_array_foreach(list, i,
			   v) if (any_fits(json_object_get(c, "gpu"), json_string_value(v)))
	{
		which = json_string_value(v);
		n++;
	}
	snprintf(text, sizeof(text), "%zu", n);
	if (!n || (range && order_in(ORDER_NUMBERS, json_string_value(range), text) <= 0))
		return ANSWER_NO;
	prove(l, arena_printf(l->a, "%zu GPU%s of %s", n, PLURAL(n), which), NULL);
	return ANSWER_YES;
}

enum answer3 leaf_module(struct leaf_look *l, const json_t *c)
{
	json_t *list = machine_has(l, "loaded", NULL);
	const char *which = "";
	bool want = !json_is_false(json_object_get(c, "loaded"));

	if (!list)
		return unseen(l, "the loaded modules");
	if (array_has(list, json_object_get(c, "module"), &which) != want)
		return ANSWER_NO;
	prove(l,
	      arena_printf(l->a, "module %s %s", text_at(json_object_get(c, "module"), 0),
			   want ? "is loaded" : "is not loaded"),
	      "/proc/modules");
	return ANSWER_YES;
}

/* A word of the kernel's command line: NAME or NAME=VALUE. */
enum answer3 leaf_boot(struct leaf_look *l, const json_t *c)
{
	const char *line = json_string_value(machine_has(l, "cmdline", NULL)),
		   *name = key_text(c, "boot"), *at;
	const json_t *is = json_object_get(c, "is");
	size_t n = strlen(name), k = 0;

	if (!line)
		return unseen(l, "the kernel's command line");
	for (at = line; *at; at += k + (at[k] == ' ')) {
		k = strcspn(at, " ");
		if (k >= n && strncmp(at, name, n) == 0 && (k == n || at[n] == '='))
			break;
	}
	if (json_is_false(json_object_get(c, "set")))
		return answer_of(!*at);
	if (!*at || (is && !any_fits(is, k == n ? "" : arena_strndup(l->a, at + n + 1, k - n - 1))))
		return ANSWER_NO;
	prove(l, arena_strndup(l->a, at, k), "/proc/cmdline");
	return ANSWER_YES;
}

/* A map of the machine's from name to version. */
static enum answer3 leaf_versions(struct leaf_look *l, const json_t *c, const char *leaf,
				  const char *key, enum order o)
{
	json_t *all = machine_has(l, key, NULL), *v;
	enum answer3 best = ANSWER_NO;
	const char *name;

	if (!all)
		return unseen(l, key);
	json_object_foreach(all, name, v)
	{
		enum answer3 r;
		size_t i;
		json_t *one;

		if (best == ANSWER_YES || !any_fits(json_object_get(c, leaf), name))
			continue;
		/* Several of one name. */
		if (!json_is_array(v)) {
			r = version_in(l, o, json_object_get(c, "version"), json_string_value(v),
				       name);
		} else {
			r = ANSWER_NO;
			json_array_foreach(v, i, one) r =
				better(r, version_in(l, o, json_object_get(c, "version"),
						     json_string_value(one), name));
			v = json_array_get(v, 0);
		}
		if (r == ANSWER_YES)
			prove(l,
			      arena_printf(l->a, "%s %s", name,
					   json_string_value(v) ? json_string_value(v) : ""),
			      *leaf == 'f' ? key_text(machine_has(l, "firmware_from", NULL), name)
					   : NULL);
		best = better(best, r);
	}
	return best;
}

/* Firmware that the system has a place for; a BMC's is seen from outside alone. */
static bool firmware_seen(const json_t *names)
{
	static const char *const kinds[] = { "bios", "vbios", "nic:", "nvme:", "esrt:" };
	bool all = true;

	TEXT_FOR_EACH(name, names)
	{
		bool known = false;

		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			known = known || str_starts(name, kinds[i]);
		all = all && known;
	}
	return all;
}

enum answer3 leaf_firmware(struct leaf_look *l, const json_t *c)
{
	const json_t *names = json_object_get(c, "firmware");
	json_t *all = machine_has(l, "firmware", NULL), *v;
	bool found = !l->w->machine || firmware_seen(names);
	const char *name;

	json_object_foreach(all, name, v)
	{
		found = found || any_fits(names, name);
	}
	if (all && !found)
		return unseen(l, arena_printf(l->a, "firmware %s", text_at(names, 0)));
	return leaf_versions(l, c, "firmware", "firmware", ORDER_FIRMWARE);
}

enum answer3 leaf_release(struct leaf_look *l, const json_t *c)
{
	return leaf_versions(l, c, "release", "releases", ORDER_NUMBERS);
}

static bool fact_meets(const json_t *c, const json_t *v)
{
	const json_t *least = json_object_get(c, "at_least"), *most = json_object_get(c, "at_most"),
		     *is = json_object_get(c, "is"), *no = json_object_get(c, "not");
	char text[64];
	const char *s = json_string_value(v);

	if (!s) {
		if (json_is_boolean(v))
			snprintf(text, sizeof(text), "%s", json_is_true(v) ? "true" : "false");
		else
			snprintf(text, sizeof(text), "%.17g", json_number_value(v));
		s = text;
	}
	return (!is || any_fits(is, s)) && (!no || !any_fits(no, s)) &&
	       (!least ||
		(json_is_number(v) && json_number_value(v) >= json_number_value(least))) &&
	       (!most || (json_is_number(v) && json_number_value(v) <= json_number_value(most)));
}

enum answer3 leaf_fact(struct leaf_look *l, const json_t *c)
{
	const char *path = key_text(c, "fact"), *other = key_text(c, "more_than");
	json_t *v = json_object_get(machine_has(l, "facts", path), path), *one,
	       *more = other ? json_object_get(machine_has(l, "facts", other), other) : NULL;
	size_t i;

	if (!v || json_is_null(v))
		return unseen(l, path);
	if (other && !json_is_number(more))
		return unseen(l, other);
	if (other && json_number_value(v) <= json_number_value(more))
		return ANSWER_NO;
	if (!json_is_array(v) && !fact_meets(c, v))
		return ANSWER_NO;
	if (json_is_array(v)) {
		json_array_foreach(v, i, one) if (fact_meets(c, one)) break;
		if (i == json_array_size(v))
			return ANSWER_NO;
	}
	prove(l, arena_printf(l->a, "%s %s", path, json_dumped(l->a, v)), NULL);
	return ANSWER_YES;
}

enum answer3 leaf_setting(struct leaf_look *l, const json_t *c)
{
	const char *id = key_text(c, "setting"), *v = key_text(machine_has(l, "settings", id), id);

	if (!v)
		return unseen(l, id);
	if (!any_fits(json_object_get(c, "verdict"), v))
		return ANSWER_NO;
	prove(l, arena_printf(l->a, "setting %s: %s", id, v), NULL);
	return ANSWER_YES;
}

/* Lines, or how many lines there are of what was looked for. */
static enum answer3 log_line(struct leaf_look *l, const char *pattern)
{
	json_t *log = machine_has(l, "log", pattern), *v;
	size_t i;

	v = json_is_object(log) ? json_object_get(log, pattern) : NULL;
	if (!log || json_is_null(v))
		return unseen(l, "the kernel log");
	if (v && json_integer_value(v) > 0)
		prove(l,
		      arena_printf(l->a, "\"%s\" in %lld lines", pattern,
				   (long long)json_integer_value(v)),
		      "the kernel log");
	if (v)
		return answer_of(json_integer_value(v) > 0);
	json_array_foreach(log, i, v) if (defect_signature_in(pattern, json_string_value(v)))
	{
		prove(l, json_string_value(v), "the kernel log");
		return ANSWER_YES;
	}
	return ANSWER_NO;
}

enum answer3 leaf_log(struct leaf_look *l, const json_t *c)
{
	enum answer3 best = ANSWER_NO;

	TEXT_FOR_EACH(t, json_object_get(c, "log"))
	if (best != ANSWER_YES)
		best = better(best, log_line(l, t));
	return best;
}
