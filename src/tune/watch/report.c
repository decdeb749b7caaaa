/* SPDX-License-Identifier: Apache-2.0 */
/* Events to lines. One change of many targets, seen at one look, is one line. */
#include <string.h>

#include "base/json.h"
#include "base/clock.h"
#include "base/text.h"
#include "tune/plan/plan.h"
#include "tune/watch/event.h"

enum { TARGETS_SHOWN = 8, PRIORITY_WARNING = 4, PRIORITY_NOTICE = 5, PRIORITY_INFO = 6 };

/* The last column marks the message in the journal, so that it can be searched for. */
static const struct {
	const char *name;
	int priority;
	const char *message_id;
} kinds[EVENT_KINDS] = {
	[EVENT_STARTED] = { "started", PRIORITY_INFO, "5b5211b1177046bc87cd15d6633d1001" },
	[EVENT_RELOADED] = { "reloaded", PRIORITY_INFO, "5b5211b1177046bc87cd15d6633d1002" },
	[EVENT_TROUBLE] = { "trouble", PRIORITY_WARNING, "5b5211b1177046bc87cd15d6633d1003" },
	[EVENT_CHANGED] = { "changed", PRIORITY_WARNING, "5b5211b1177046bc87cd15d6633d1004" },
	[EVENT_LOST] = { "lost", PRIORITY_NOTICE, "5b5211b1177046bc87cd15d6633d1005" },
	[EVENT_RETURNED] = { "returned", PRIORITY_NOTICE, "5b5211b1177046bc87cd15d6633d1006" },
	[EVENT_REAPPLIED] = { "reapplied", PRIORITY_NOTICE, "5b5211b1177046bc87cd15d6633d1007" },
	[EVENT_REFUSED] = { "refused", PRIORITY_WARNING, "5b5211b1177046bc87cd15d6633d1008" },
	[EVENT_LEFT] = { "left", PRIORITY_NOTICE, "5b5211b1177046bc87cd15d6633d1009" },
	[EVENT_GAVE_UP] = { "gave-up", PRIORITY_WARNING, "5b5211b1177046bc87cd15d6633d100a" },
	[EVENT_GONE] = { "gone", PRIORITY_NOTICE, "5b5211b1177046bc87cd15d6633d100b" },
	[EVENT_BACK] = { "back", PRIORITY_NOTICE, "5b5211b1177046bc87cd15d6633d100c" },
	[EVENT_UNSEEN] = { "unseen", PRIORITY_NOTICE, "5b5211b1177046bc87cd15d6633d100d" },
	[EVENT_STOPPED] = { "stopped", PRIORITY_INFO, "5b5211b1177046bc87cd15d6633d100e" },
};

static const char *event_name(enum event_kind k)
{
	return kinds[k].name;
}

static bool text_equal(const char *x, const char *y)
{
	return x && y ? strcmp(x, y) == 0 : x == y;
}

/* They differ in their target alone. */
static bool is_same_change(const struct event *x, const struct event *y)
{
	return x->kind == y->kind && x->item && y->item && strcmp(x->item->id, y->item->id) == 0 &&
	       x->item->txn == y->item->txn && text_equal(x->item->after, y->item->after) &&
	       text_equal(x->from, y->from) && text_equal(x->to, y->to) && x->policy == y->policy &&
	       x->who.pid == y->who.pid && text_equal(x->via, y->via) &&
	       text_equal(x->likely, y->likely) && text_equal(x->note, y->note);
}

/* One line to be: its first event and all targets. */
struct line {
	const struct event *e;
	const struct watched_knob *item; /* the event's */
	const char **targets;
	size_t n;
};

static void watch_report_add_target(struct arena *a, struct line *l, const struct event *e)
{
	const char *name = !e->item	      ? NULL
			   : *e->item->target ? e->item->target
					      : knob_text(a, &e->item->knob);

	if (!name)
		return;
	ARENA_ADD(a, l->targets, l->n) = utf8_clean(a, name);
}

static bool is_noticed_by_event(const char *via)
{
	return strcmp(via, "poll") != 0 && strcmp(via, "start") != 0;
}

static void report_what(struct arena *a, struct text *t, const struct event *e)
{
	static const char *const words[EVENT_KINDS] = {
		[EVENT_LOST] = "has not been in effect since the reboot",
		[EVENT_GONE] = "is now missing",
		[EVENT_BACK] = "is present again",
		[EVENT_UNSEEN] = "cannot be read",
	};
	const char *from = value_shown(a, e->from), *to = value_shown(a, e->to);

	if (words[e->kind])
		text_add(t, words[e->kind]);
	else if (from && to)
		text_printf(t, "%s became %s", from, to);
	else
		text_printf(t, "is %s", to ? to : "unknown");
}

/* Values may hold anything; a line is one line, moves no cursor and turns no direction. */
static const char *watch_report_one_line(struct arena *a, const char *s)
{
	TEXT_AUTO out = { 0 };
	uint32_t cp;
	size_t n;

	text_add(&out, "");
	for (s = utf8_clean(a, s); (n = utf8_next(s, &cp)); s += n)
		if (utf8_harmless(cp))
			text_addn(&out, s, n);
		else
			text_addc(&out, ' ');
	return arena_strdup(a, out.s);
}

static const char *watch_report_sentence(struct arena *a, const struct line *l)
{
	const struct event *e = l->e;
	TEXT_AUTO t = { 0 };

	if (!e->item)
		return watch_report_one_line(a, e->note ? e->note : "");
	text_printf(&t, "%s", e->item->id);
	if (l->n > TARGETS_SHOWN)
		text_printf(&t, " (%zu targets, %s and others)", l->n, l->targets[0]);
	else
		for (size_t i = 0; i < l->n; i++)
			text_printf(&t, "%s%s%s", i ? ", " : " (", l->targets[i],
				    i + 1 == l->n ? ")" : "");
	text_add(&t, ": ");
	report_what(a, &t, e);
	if (e->kind != EVENT_LOST && e->kind != EVENT_UNSEEN)
		text_printf(&t, "; detected by %s", e->via);
	if (e->who.pid)
		text_printf(&t, ", set by %s", who_text(a, &e->who));
	else if (e->likely)
		text_printf(&t, ", possibly by %s, which is running", e->likely);
	if (e->note)
		text_printf(&t, "; %s", e->note);
	return watch_report_one_line(a, t.s);
}

/* A line of JSON, a row a figure. Keys and meanings are API. */

SHAPE_GIVES(const char *, who_name, who, *x->name ? x->name : NULL)
SHAPE_GIVES(const char *, who_unit, who, *x->unit ? x->unit : NULL)
SHAPE_GIVES(bool, line_has_item, line, x->item != NULL)
SHAPE_GIVES(const char *, line_noticed_by, line,
	    !x->item || !x->e->via	     ? NULL
	    : is_noticed_by_event(x->e->via) ? "event"
					     : x->e->via)

static const void *line_sentence(struct arena *a, const void *object, size_t *n)
{
	(void)n;
	return watch_report_sentence(a, object);
}

static const char *const noticed_by[] = { "event", "poll", "start" };
static const char *const vias[] = { "poll",    "start",	 "fanotify", "inotify",
				    "netlink", "uevent", "nvml" };

/* clang-format off */
#define OF_EVENT SHAPE_VIA(line, e, event)
#define OF_ITEM SHAPE_VIA(line, item, watched_knob)

static const struct shape who_shape = SHAPE_OF(who, who,
	{ "pid", NULL, SHAPE_COUNT(who, pid) },
	{ "name", NULL, SHAPE_TEXT_OF(who_name), .unknown = SHAPE_NULL },
	{ "unit", "Unit of the service manager.", SHAPE_TEXT_OF(who_unit), .unknown = SHAPE_NULL },
	{ "login_uid", NULL, SHAPE_COUNT(who, login_uid), .unknown = SHAPE_NEGATIVE });

static const struct shape line_shape = SHAPE_OF(line, line,
	{ "event", NULL, SHAPE_CHOICE_BY(event, kind, event_name, EVENT_KINDS), OF_EVENT },
	{ "targets", NULL, SHAPE_TEXT_LIST(line, targets, n) },
	{ "id", "Id of the setting.", SHAPE_TEXT(watched_knob, id), OF_ITEM, .unknown = SHAPE_NULL },
	{ "knob", NULL, SHAPE_OBJECT(watched_knob, knob, knob), OF_ITEM, .unknown = SHAPE_NULL },
	{ "transaction", NULL, SHAPE_COUNT(watched_knob, txn), OF_ITEM, .unknown = SHAPE_ZERO },
	{ "wanted", NULL, SHAPE_TEXT(watched_knob, after), OF_ITEM, .unknown = SHAPE_NULL },
	{ "policy", NULL,
	  SHAPE_CHOICE_BY(event, policy, reaction_name, REACT_BACK_OFF + 1), OF_EVENT, .when_of = line_has_item },
	{ "noticed_by", NULL, SHAPE_TEXT_OF(line_noticed_by), SHAPE_NAMES(noticed_by), .unknown = SHAPE_NULL },
	{ "from", NULL, SHAPE_TEXT(event, from), OF_EVENT, .unknown = SHAPE_NULL },
	{ "to", NULL, SHAPE_TEXT(event, to), OF_EVENT, .unknown = SHAPE_NULL },
	{ "via", NULL, SHAPE_TEXT(event, via), SHAPE_NAMES(vias), OF_EVENT, .unknown = SHAPE_NULL },
	{ "who", "Program or user that made the change.", SHAPE_OBJECT(event, who, who), OF_EVENT,
	  .unknown = SHAPE_ZERO },
	{ "likely", "Running service that sets such knobs.",
	  SHAPE_TEXT(event, likely), OF_EVENT, .unknown = SHAPE_NULL },
	{ "sentence", "The whole event as text.", SHAPE_TEXT_MADE(line_sentence) });

const struct result_shape watch_result = {
	.name = "watch", .title = "gputune watch: one line",
	.meaning = "A detected change.", .shape = &line_shape, .no_version = true,
};
/* clang-format on */

static void print_json(struct reporter *r, long long time_s, const struct line *l)
{
	json_t *j = result_shape_json(&watch_result, l, time_s, 0);

	if (r->line) {
		r->line(r->ctx, j);
		return;
	}
	json_print(r->out, j, JSON_COMPACT);
	fputc('\n', r->out);
	json_decref(j);
}

static void add_field(struct arena *a, struct text *t, const char *key, const char *value)
{
	if (value && *value)
		journal_field(t, key, utf8_clean(a, value_shown(a, value)));
}

static void send_journal(struct reporter *r, struct arena *a, const struct line *l)
{
	const struct event *e = l->e;
	TEXT_AUTO t = { 0 };

	journal_field(&t, "MESSAGE", watch_report_sentence(a, l));
	journal_field(&t, "MESSAGE_ID", kinds[e->kind].message_id);
	text_printf(&t, "PRIORITY=%d\nSYSLOG_IDENTIFIER=gputune\n", kinds[e->kind].priority);
	journal_field(&t, "GPUTUNE_EVENT", event_name(e->kind));
	if (e->item) {
		add_field(a, &t, "GPUTUNE_ID", e->item->id);
		for (size_t i = 0; i < l->n && i < TARGETS_SHOWN; i++)
			add_field(a, &t, "GPUTUNE_TARGET", l->targets[i]);
		add_field(a, &t, "GPUTUNE_WANTED", e->item->after);
		text_printf(&t, "GPUTUNE_TRANSACTION=%lu\nGPUTUNE_TARGETS=%zu\n", e->item->txn,
			    l->n);
		add_field(a, &t, "GPUTUNE_VIA", e->via);
		add_field(a, &t, "GPUTUNE_WHO", who_text(a, &e->who));
	}
	add_field(a, &t, "GPUTUNE_FROM", e->from);
	add_field(a, &t, "GPUTUNE_TO", e->to);
	add_field(a, &t, "GPUTUNE_LIKELY", e->likely);
	datagram_send(r->journal_fd, t.s, t.len);
}

static void print_line(struct reporter *r, struct arena *a, long long time_s, const struct line *l)
{
	char time[STAMP_SIZE];

	if (stamp_format(time_s, time))
		time[0] = '\0';
	if (r->journal_fd >= 0)
		send_journal(r, a, l);
	if (r->out && r->json)
		print_json(r, time_s, l);
	else if (r->out)
		fprintf(r->out, "%s %s: %s\n", time, event_name(l->e->kind),
			watch_report_sentence(a, l));
}

void report_events(struct reporter *r, long long time_s, const struct event *list, size_t n)
{
	ARENA_AUTO a = { 0 };
	struct line *lines = NULL;
	size_t n_lines = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < n_lines && !is_same_change(lines[k].e, &list[i]))
			k++;
		if (k == n_lines) {
			ARENA_ADD(&a, lines, n_lines) =
				(struct line){ .e = &list[i], .item = list[i].item };
		}
		watch_report_add_target(&a, &lines[k], &list[i]);
	}
	for (size_t i = 0; i < n_lines; i++)
		print_line(r, &a, time_s, &lines[i]);
	if (r->out && n)
		fflush(r->out);
}
