/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes' answers as structs. What is not of its form is left out; what is too much is cut. */
#include <string.h>

#include "base/text.h"
#include "many/cluster/apply.h"

enum { TEXT_MAX = 1 << 16 };

/* "" for what is no text, or more than anybody writes. */
static const char *text_of(struct arena *a, const json_t *j)
{
	size_t n = json_string_length(j);

	return json_is_string(j) && n <= TEXT_MAX && strlen(json_string_value(j)) == n
		       ? arena_strndup(a, json_string_value(j), n)
		       : "";
}

static const char *member(struct arena *a, const json_t *j, const char *key)
{
	return text_of(a, json_object_get(j, key));
}

/* As member, NULL for what is null or missing. */
static const char *optional(struct arena *a, const json_t *j, const char *key)
{
	return json_is_string(json_object_get(j, key)) ? member(a, j, key) : NULL;
}

static size_t count(const json_t *list, size_t most)
{
	size_t n = json_array_size(list);

	return n < most ? n : most;
}

static const char **texts(struct arena *a, const json_t *list, size_t most, size_t *n)
{
	size_t all = count(list, most);
	const char **out = arena_array(a, all, sizeof(*out));

	*n = 0;
	for (size_t i = 0; i < all; i++)
		if (json_is_string(json_array_get(list, i)))
			out[(*n)++] = text_of(a, json_array_get(list, i));
	return out;
}

void apply_read_before(struct arena *a, const json_t *j, struct wiring_node *out)
{
	const json_t *networks = json_object_get(j, "networks"), *keys = json_object_get(j, "keys");
	struct ipv4 *list = arena_array(a, count(networks, WIRING_NETWORKS_MAX), sizeof(*list));
	struct wiring_key *key = arena_array(a, count(keys, WIRING_KEYS_MAX), sizeof(*key));

	out->user = member(a, j, "user");
	out->euid = json_integer_value(json_object_get(j, "euid"));
	out->version = member(a, j, "version");
	for (size_t i = 0; i < count(networks, WIRING_NETWORKS_MAX); i++)
		if (ipv4_parse(text_of(a, json_array_get(networks, i)), &list[out->n_networks]) ==
		    0)
			out->n_networks++;
	for (size_t i = 0; i < count(keys, WIRING_KEYS_MAX); i++) {
		const json_t *k = json_array_get(keys, i);

		key[out->n_keys++] =
			(struct wiring_key){ member(a, k, "file"), member(a, k, "digest") };
	}
	out->networks = list;
	out->keys = key;
	out->host_keys =
		texts(a, json_object_get(j, "host_keys"), WIRING_KEYS_MAX, &out->n_host_keys);
}

static const char *words(struct arena *a, const json_t *list)
{
	TEXT_AUTO out = { 0 };

	text_add(&out, "");
	for (size_t i = 0; i < count(list, APPLY_ITEMS_MAX); i++)
		text_printf(&out, "%s%s", i ? " " : "", text_of(a, json_array_get(list, i)));
	return arena_strdup(a, out.s);
}

static void read_changes(struct arena *a, const json_t *list, struct apply_node *out)
{
	size_t n = count(list, APPLY_ITEMS_MAX);

	out->changes = arena_array(a, n, sizeof(*out->changes));
	out->n_changes = n;
	for (size_t i = 0; i < n; i++) {
		const json_t *j = json_array_get(list, i);

		out->changes[i] = (struct apply_change){ .step = member(a, j, "step"),
							 .kind = member(a, j, "kind"),
							 .name = member(a, j, "name"),
							 .object = member(a, j, "object"),
							 .before = optional(a, j, "before"),
							 .after = optional(a, j, "after") };
	}
}

void apply_read_plan(struct arena *a, const json_t *j, struct apply_node *out)
{
	const json_t *files = json_object_get(j, "files"),
		     *refusals = json_object_get(j, "refusals"),
		     *owners = json_object_get(j, "owners"),
		     *commands = json_object_get(j, "commands");

	read_changes(a, json_object_get(j, "changes"), out);
	out->digest = member(a, j, "digest");
	out->notes = texts(a, json_object_get(j, "notes"), APPLY_ITEMS_MAX, &out->n_notes);
	out->n_files = count(files, APPLY_ITEMS_MAX);
	out->files = arena_array(a, out->n_files, sizeof(*out->files));
	for (size_t i = 0; i < out->n_files; i++)
		out->files[i] = (struct apply_file){ member(a, json_array_get(files, i), "path"),
						     member(a, json_array_get(files, i), "text") };
	out->n_refusals = count(refusals, APPLY_ITEMS_MAX);
	out->refusals = arena_array(a, out->n_refusals, sizeof(*out->refusals));
	for (size_t i = 0; i < out->n_refusals; i++) {
		const json_t *r = json_array_get(refusals, i);

		out->refusals[i] =
			(struct apply_refusal){ member(a, r, "code"), member(a, r, "port"),
						member(a, r, "text"), member(a, r, "fix") };
	}
	out->n_owners = count(owners, APPLY_ITEMS_MAX);
	out->owners = arena_array(a, out->n_owners, sizeof(*out->owners));
	for (size_t i = 0; i < out->n_owners; i++)
		out->owners[i] =
			arena_printf(a, "%s: %s", member(a, json_array_get(owners, i), "port"),
				     member(a, json_array_get(owners, i), "owner"));
	out->n_commands = count(commands, APPLY_ITEMS_MAX);
	out->commands = arena_array(a, out->n_commands, sizeof(*out->commands));
	for (size_t i = 0; i < out->n_commands; i++)
		out->commands[i] = words(a, json_array_get(commands, i));
}

void apply_read_rows(struct arena *a, const json_t *j, struct apply_node *out)
{
	const json_t *list = json_object_get(j, "rows");
	size_t n = count(list, APPLY_ITEMS_MAX);

	out->changes = arena_array(a, n, sizeof(*out->changes));
	out->n_changes = n;
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(list, i);

		out->changes[i] = (struct apply_change){ .step = "",
							 .kind = member(a, row, "kind"),
							 .name = member(a, row, "name"),
							 .object = member(a, row, "object"),
							 .before = optional(a, row, "from"),
							 .after = optional(a, row, "to"),
							 .outcome = member(a, row, "outcome"),
							 .sentence = optional(a, row, "sentence"),
							 .command = optional(a, row, "command") };
	}
}
