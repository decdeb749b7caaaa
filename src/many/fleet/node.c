/* SPDX-License-Identifier: Apache-2.0 */
/* What scontrol says of one node, and what follows. Pure. */
#include "many/fleet/node.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

bool node_name_ok(const char *name)
{
	size_t n =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");

	return n && n <= 64 && !name[n] && name[0] != '-';
}

/* What follows " KEY=" on the line. */
static const char *after(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at ? at + strlen(key) : NULL;
}

/* "low memory [root@2026-11-21T08:00:00]" without its end. */
static const char *reason_of(struct arena *a, const char *s)
{
	size_t n = strcspn(s, "\n");

	for (size_t i = 0; i + 2 < n; i++)
		if (s[i] == ' ' && s[i + 1] == '[' && memchr(s + i, '@', n - i)) {
			n = i;
			break;
		}
	return arena_strndup(a, s, n);
}

/* Of "DOWN*+DRAIN": a word, whatever sign stands behind it. "POWERED_DOWN" is another one. */
static bool is_in_state(const char *state, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = state; at; at = strchr(at, '+')) {
		at += *at == '+';
		if (strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == n && strncmp(at, word, n) == 0)
			return true;
	}
	return false;
}

int node_parse(struct arena *a, const char *name, const char *output, struct node_state *out,
	       struct err *e)
{
	const char *who = str_starts(output, "NodeName=") ? output + strlen("NodeName=") : "";
	const char *state = after(output, " State="), *reason = after(output, " Reason=");
	size_t n = strlen(name);

	if (strncmp(who, name, n) != 0 || (who[n] != ' ' && who[n] != '\n') || !state)
		return err_set(e, -EINVAL, "scontrol does not report node %s", name);
	*out = (struct node_state){ .state = arena_strndup(a, state, strcspn(state, " \n")),
				    .reason = reason ? reason_of(a, reason) : "" };
	out->drained = strstr(out->state, "DRAIN") != NULL;
	out->out = is_in_state(out->state, "DOWN") || is_in_state(out->state, "FAIL") ||
		   is_in_state(out->state, "FAILING");
	out->rebooting = strstr(out->state, "REBOOT") != NULL;
	out->ours = str_starts(out->reason, NODE_MARK);
	return 0;
}

const char *node_reason(struct arena *a, const char *text)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, NODE_MARK);
	for (; *text && t.len < NODE_REASON_MAX; text++) {
		char c = *text;

		/* Brackets would look like who set it; quotes and backslashes are its syntax. */
		if (c == '[' || c == ']')
			c = c == '[' ? '(' : ')';
		text_addc(&t, c < ' ' || c > '~' || strchr("\"'\\`$", c) ? '?' : c);
	}
	while (t.s[t.len - 1] == ' ')
		t.s[--t.len] = '\0';
	/* The mark ends in a blank, without which a drain of ours is nobody's. */
	if (t.len < strlen(NODE_MARK))
		text_add(&t, " ?");
	return arena_strdup(a, t.s);
}

/*
 * A drain would put our reason in the place of whoever's is there, and the way back would be ours
 * then. RESUME would also bring back what is down and call off a reboot.
 */
enum node_action node_decide(const struct node_state *s, const char *reason)
{
	if (reason) {
		if ((s->drained || s->out) && !s->ours)
			return NODE_THEIRS;
		return s->drained && strcmp(s->reason, reason) == 0 ? NODE_LEAVE : NODE_DRAIN;
	}
	if (!s->drained)
		return NODE_LEAVE;
	if (!s->ours)
		return NODE_THEIRS;
	return s->out || s->rebooting ? NODE_LEAVE : NODE_UNDRAIN;
}
