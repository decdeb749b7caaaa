/* SPDX-License-Identifier: Apache-2.0 */
/* From the journal to the list of what is watched. */
#include "tune/watch/item.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/text.h"
#include "machine/knob/io.h"
#include "tune/txn/boot.h"

/* Knobs that are equal have the same one, whatever they were made from. */
static const char *knob_key(struct arena *a, const struct knob *k)
{
	return arena_printf(a, "%d %s", (int)k->kind, knob_text(a, k));
}

static bool is_newer(const struct entry *x, const struct entry *y)
{
	return x->txn != y->txn ? x->txn > y->txn : x->seq > y->seq;
}

static bool selects(const char *const *only, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (id_matches(id, only[i]))
			return true;
	return n == 0;
}

/* The newest entry of every knob that may hold a value. */
static struct map tops(struct arena *a, const struct journal *j)
{
	struct map m = { 0 };

	for (size_t i = 0; i < j->n; i++)
		for (size_t k = 0; k < j->items[i].n; k++) {
			struct entry *e = &j->items[i].entries[k];
			void **at;

			if (e->state == ENTRY_UNDONE || e->knob.kind == KNOB_NONE)
				continue;
			at = map_at(a, &m, knob_key(a, &e->knob));
			if (!*at || is_newer(e, *at))
				*at = e;
		}
	return m;
}

/* The newest entry that has reset the knob to something else than what it was to be: what of ours
 * it held was not in force from then on. By keys. */
static struct map watch_item_resets(struct arena *a, const struct journal *j)
{
	struct map m = { 0 };

	for (size_t i = 0; i < j->n; i++)
		for (size_t k = 0; k < j->items[i].n; k++) {
			struct entry *e = &j->items[i].entries[k];

			for (size_t n = 0; e->state == ENTRY_DONE && n < e->n_sides; n++) {
				const struct side_effect *s = &e->sides[n];
				void **at;

				if (!s->left || knob_same(&s->knob, s->left, s->before))
					continue;
				at = map_at(a, &m, knob_key(a, &s->knob));
				if (!*at || is_newer(e, *at))
					*at = e;
			}
		}
	return m;
}

/* like: a text that is kept already, and may be the same one; NULL. */
static const char *stored_string(struct arena *a, const char *s, const char *like)
{
	if (!s || !*s)
		return s ? "" : NULL;
	return like && strcmp(s, like) == 0 ? like : arena_strdup(a, s);
}

/* Of a setting with many targets most texts are those of the one before it in the list. */
static struct watched_knob watch_item_make(struct arena *a, const struct entry *e,
					   const struct watched_knob *before, bool same_boot)
{
	static const struct watched_knob none = { 0 };
	const struct watched_knob *like = before ? before : &none;
	struct watched_knob it = { .id = stored_string(a, e->id, like->id),
				   .target = stored_string(a, e->target, like->target),
				   .before = stored_string(a, e->before, like->before),
				   .after = stored_string(a, e->after, like->after),
				   .place = stored_string(a, e->place ? e->place : "", like->place),
				   .knob = { e->knob.kind,
					     stored_string(a, e->knob.name, like->knob.name),
					     stored_string(a, e->knob.object, like->knob.object) },
				   .txn = e->txn,
				   .seq = e->seq,
				   .same_boot = same_boot,
				   .lost = e->lost };

	it.read = stored_string(a, e->read, it.after);
	it.path = knob_path(a, &it.knob);
	if (it.knob.kind == KNOB_FILE)
		it.path = it.knob.name;
	if (it.knob.kind == KNOB_PCI)
		it.path = arena_printf(a, "/sys/bus/pci/devices/%s/config", it.knob.object);
	return it;
}

/* Both lists are in the journal's order, so that one pass finds what was seen before. */
static void carry_over(struct watched_knob *it, struct items *old, size_t *at)
{
	for (size_t i = 0; i < old->n; i++) {
		struct watched_knob *was = &old->list[(*at + i) % old->n];
		struct watched_knob now = *it;

		if (was->txn != it->txn || was->seq != it->seq ||
		    !knob_equal(&was->knob, &it->knob))
			continue;
		*at = (*at + i + 1) % old->n;
		*it = *was;
		was->now = NULL;
		was->past = NULL;
		it->knob = now.knob;
		it->id = now.id;
		it->target = now.target;
		it->before = now.before;
		it->after = now.after;
		it->read = now.read;
		it->place = now.place;
		it->path = now.path;
		it->lost = now.lost;
		return;
	}
}

/* What was interrupted is to be rolled back, and what an undo has begun to be taken back: neither
 * is to hold. Of what cannot be read nobody knows. */
static bool is_open(const struct transaction *t, const struct entry *e)
{
	return e->state != ENTRY_UNDONE &&
	       (e->state == ENTRY_INTENDED || t->state == TRANSACTION_OPEN || e->undoing ||
		e->unread);
}

/* What lies in a folder that was made for a file of ours is no change of it. */
static bool is_folder(const struct knob *k)
{
	return k->kind == KNOB_FILE && str_ends(k->name, "/");
}

void items_load(struct host *h, struct items *out, const struct journal *j, struct items *old,
		const char *const *only, size_t n_only)
{
	struct arena scratch = { 0 };
	struct map m = tops(&scratch, j), reset = watch_item_resets(&scratch, j);
	const char *boot = boot_id_of(h, &scratch);
	size_t at = 0;

	*out = (struct items){ 0 };
	out->list = arena_array(&out->arena, m.n, sizeof(*out->list));
	for (size_t i = 0; i < j->n; i++) {
		const struct transaction *t = &j->items[i];
		size_t had = out->n;

		for (size_t k = 0; k < t->n; k++) {
			const struct entry *e = &t->entries[k], *by;
			const char *key = knob_key(&scratch, &e->knob);

			out->open += is_open(t, e);
			by = map_get(&reset, key);
			if (e->state != ENTRY_DONE || is_open(t, e) ||
			    !selects(only, n_only, e->id) || is_folder(&e->knob) ||
			    map_get(&m, key) != e || (by && is_newer(by, e)))
				continue;
			out->list[out->n] = watch_item_make(
				&out->arena, e, out->n ? &out->list[out->n - 1] : NULL,
				!t->boot_id || !*boot || strcmp(t->boot_id, boot) == 0);
			carry_over(&out->list[out->n++], old, &at);
		}
		out->transactions += out->n > had;
	}
	arena_free(&scratch);
	items_free(old);
}

void items_free(struct items *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->list[i].now);
		free(list->list[i].past);
	}
	arena_free(&list->arena);
	*list = (struct items){ 0 };
}

void item_set_now(struct watched_knob *it, const char *now)
{
	char *copy = now ? strdup(now) : NULL;

	if (now && !copy)
		out_of_memory(0);
	free(it->now);
	it->now = copy;
}

struct item_past *item_past(struct watched_knob *it)
{
	if (!it->past)
		it->past = calloc(1, sizeof(*it->past));
	if (!it->past)
		out_of_memory(0);
	return it->past;
}

struct who item_who(const struct watched_knob *it)
{
	return it->via && it->past ? it->past->who : (struct who){ 0 };
}

static bool below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && path[n] == '/';
}

static bool is_named_by_path(const struct watched_knob *it, const char *path)
{
	switch (it->knob.kind) {
	case KNOB_SYSCTL:
		return strcmp(path, it->path) == 0 || below(path, "/etc/sysctl.d");
	case KNOB_UNIT:
		return below(path, "/etc/systemd/system");
	case KNOB_BOOTARG:
		return below(path, "/etc/default/grub.d") ||
		       strcmp(path, "/etc/kernel/cmdline") == 0;
	default:
		return it->path && strcmp(path, it->path) == 0;
	}
}

bool item_is_named(const struct watched_knob *it, const struct hint *h)
{
	switch (h->kind) {
	case HINT_PATH:
		return is_named_by_path(it, h->what);
	case HINT_LINK:
		return it->knob.kind == KNOB_LINK && strcmp(it->knob.object, h->what) == 0;
	case HINT_DEVICE:
		return *it->place && (strcmp(it->place, h->what) == 0 || below(it->place, h->what));
	case HINT_GPU:
		return (it->knob.kind == KNOB_NVML || it->knob.kind == KNOB_HELPER) &&
		       (!h->what[0] || strcmp(it->knob.object, h->what) == 0);
	case HINT_ALL:
		return true;
	default:
		return false;
	}
}

bool item_is_dear(const struct watched_knob *it)
{
	return it->knob.kind == KNOB_ZPROP || it->knob.kind == KNOB_HELPER ||
	       it->knob.kind == KNOB_FIRMWARE || it->knob.kind == KNOB_POWER;
}

const char *value_shown(struct arena *a, const char *value)
{
	if (!value || strlen(value) <= VALUE_SHOWN_MAX)
		return value;
	return arena_printf(a, "%.*s...", VALUE_SHOWN_MAX, value);
}

/* Looking at one knob: is it still ours? Clock locks, which the driver sets but does not tell, are
 * judged by the clock: one that runs faster than the lock allows is not locked. */

/* Drivers round a lock to a step of the clock. */
enum { CLOCK_STEP_MHZ = 30, GPUS_MAX = 256 };

/* "0000:01:00.0" and NVML's "00000000:01:00.0" are one address. */
static bool same_address(const char *x, const char *y)
{
	const char *a = strchr(x, ':'), *b = strchr(y, ':');

	return a && b && strcasecmp(a, b) == 0 && strtoul(x, NULL, 16) == strtoul(y, NULL, 16);
}

static bool look_find_gpu(struct host *h, const char *address, char index[8])
{
	long long n;

	if (host_ask_int(h, "nvml", "", "nvmlDeviceGetCount", &n))
		return false;
	for (long long i = 0; i < n && i < GPUS_MAX; i++) {
		struct answer ans;

		snprintf(index, 8, "%d", (int)i);
		if (host_ask(h, "nvml", index, "nvmlDeviceGetPciInfo.busId", &ans) == 0 &&
		    ans.kind == ANSWER_TEXT && same_address(ans.text, address))
			return true;
	}
	return false;
}

static enum observation look_lock(struct host *h, struct arena *a, const struct watched_knob *it,
				  const char **now)
{
	bool memory = strcmp(it->knob.name, "memory-clock-lock") == 0;
	const char *comma = strchr(it->after, ',');
	long long most, mhz;
	char index[8];

	/* What a journal says is no lock unless the kind takes it. */
	if (it->knob.kind != KNOB_NVML || !knob_valid(&it->knob, it->after, NULL) || !comma ||
	    parse_i64(comma + 1, &most) || !look_find_gpu(h, it->knob.object, index) ||
	    host_ask_int(h, "nvml", index,
			 memory ? "nvmlDeviceGetClockInfo(MEM)" : "nvmlDeviceGetClockInfo(SM)",
			 &mhz) ||
	    mhz <= most + CLOCK_STEP_MHZ)
		return SIGHT_BLIND;
	/* The figure itself would be another at every look. */
	*now = arena_printf(a, "no lock: the %s clock is above %lld MHz", memory ? "memory" : "SM",
			    most);
	return SIGHT_OTHER;
}

enum observation item_compare(const struct watched_knob *it, const char *now)
{
	if (knob_holds(&it->knob, now, it->after) ||
	    (it->read && knob_holds(&it->knob, now, it->read)))
		return SIGHT_OURS;
	return it->before && knob_holds(&it->knob, now, it->before) ? SIGHT_RESET : SIGHT_OTHER;
}

enum observation item_look(struct host *h, struct arena *a, const struct watched_knob *it,
			   const char **now)
{
	struct err e = { 0 };
	int code = knob_get(h, a, &it->knob, now, &e);

	if (code == -ENODATA) {
		*now = NULL;
		return look_lock(h, a, it, now);
	}
	if (code == -ENOENT || code == -ENODEV || code == -ENOTDIR || code == -ENXIO) {
		*now = NULL;
		return SIGHT_GONE;
	}
	if (code) {
		*now = arena_strdup(a, e.text);
		return SIGHT_UNSEEN;
	}
	return item_compare(it, *now);
}
