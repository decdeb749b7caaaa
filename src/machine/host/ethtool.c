/* SPDX-License-Identifier: Apache-2.0 */
/* Driver, ring, coalescing and channel questions to network drivers, by ioctl. Object: the
 * interface. The present numbers of rings, channels and coalescing can be told too. */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "machine/host/ask.h"

/*
 * What one interface answered. A request is made once for all of its fields, and anew when a field
 * is asked a second time: who does that wants to know what it is now.
 */
struct interface {
	char name[IFNAMSIZ];
	unsigned asked;				      /* one bit a question */
	int driver_r, ring_r, coalesce_r, channels_r; /* 1: not asked yet */
	struct ethtool_drvinfo driver;
	struct ethtool_ringparam ring;
	struct ethtool_coalesce coalesce;
	struct ethtool_channels channels;
};

struct ethtool_state {
	int fd;
	int error;	       /* negative errno: there is no socket */
	struct interface last; /* probes ask all of one interface before the next */
};

static int ethtool_request(struct ethtool_state *s, unsigned command, void *data)
{
	struct ifreq ifr = { 0 };

	memcpy(ifr.ifr_name, s->last.name, IFNAMSIZ);
	*(__u32 *)data = command;
	ifr.ifr_data = data;
	return ioctl(s->fd, SIOCETHTOOL, &ifr) < 0 ? -errno : 0;
}

static int once(struct ethtool_state *s, int *r, unsigned command, void *data)
{
	if (*r == 1)
		*r = ethtool_request(s, command, data);
	return *r;
}

/* A text field of the kernel's, perhaps without its end. */
static int ethtool_text(struct arena *a, const char *field, size_t cap, struct answer *out)
{
	size_t n = strnlen(field, cap);

	if (!n || strncmp(field, "N/A", 3) == 0)
		return -EOPNOTSUPP;
	answer_text(out, arena_strndup(a, field, n));
	return 0;
}

static int driver_field(struct ethtool_state *s, struct arena *a, const char *field,
			struct answer *out)
{
	struct ethtool_drvinfo *d = &s->last.driver;
	int r = once(s, &s->last.driver_r, ETHTOOL_GDRVINFO, d);

	if (r)
		return r;
	if (strcmp(field, "driver") == 0)
		return ethtool_text(a, d->driver, sizeof(d->driver), out);
	if (strcmp(field, "version") == 0)
		return ethtool_text(a, d->version, sizeof(d->version), out);
	return ethtool_text(a, d->fw_version, sizeof(d->fw_version), out);
}

enum request { DRIVER, RING, COALESCE, CHANNELS, MODULE };

#define AT(type, member) offsetof(struct ethtool_##type, member)

/* The fields have the names of the kernel's structs. */
static const struct question {
	const char *field;
	enum request request;
	bool told;
	size_t offset; /* of a __u32 in the request's struct */
	size_t limit;  /* of its maximum there; 0: none is known */
} questions[] = {
	{ "driver", DRIVER, false, 0, 0 },
	{ "version", DRIVER, false, 0, 0 },
	{ "fw_version", DRIVER, false, 0, 0 },
	{ "module", MODULE, false, 0, 0 },
	{ "rx_pending", RING, true, AT(ringparam, rx_pending), AT(ringparam, rx_max_pending) },
	{ "rx_max_pending", RING, false, AT(ringparam, rx_max_pending), 0 },
	{ "tx_pending", RING, true, AT(ringparam, tx_pending), AT(ringparam, tx_max_pending) },
	{ "tx_max_pending", RING, false, AT(ringparam, tx_max_pending), 0 },
	{ "rx_coalesce_usecs", COALESCE, true, AT(coalesce, rx_coalesce_usecs), 0 },
	{ "tx_coalesce_usecs", COALESCE, true, AT(coalesce, tx_coalesce_usecs), 0 },
	{ "use_adaptive_rx_coalesce", COALESCE, true, AT(coalesce, use_adaptive_rx_coalesce), 0 },
	{ "use_adaptive_tx_coalesce", COALESCE, true, AT(coalesce, use_adaptive_tx_coalesce), 0 },
	{ "combined_count", CHANNELS, true, AT(channels, combined_count),
	  AT(channels, max_combined) },
	{ "max_combined", CHANNELS, false, AT(channels, max_combined), 0 },
};

enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

static const struct question *rule_ctx_of(const char *field)
{
	for (size_t i = 0; i < QUESTIONS; i++)
		if (strcmp(field, questions[i].field) == 0)
			return &questions[i];
	return NULL;
}

/* The struct of the question's request, got from the driver; NULL and *r when that failed. */
static char *ethtool_numbers(struct ethtool_state *s, const struct question *q, int *r)
{
	struct interface *i = &s->last;

	if (q->request == RING) {
		*r = once(s, &i->ring_r, ETHTOOL_GRINGPARAM, &i->ring);
		return *r ? NULL : (char *)&i->ring;
	}
	if (q->request == COALESCE) {
		*r = once(s, &i->coalesce_r, ETHTOOL_GCOALESCE, &i->coalesce);
		return *r ? NULL : (char *)&i->coalesce;
	}
	*r = once(s, &i->channels_r, ETHTOOL_GCHANNELS, &i->channels);
	return *r ? NULL : (char *)&i->channels;
}

static int number_field(struct ethtool_state *s, const struct question *q, struct answer *out)
{
	int r = 0;
	const char *data = ethtool_numbers(s, q, &r);
	__u32 v;

	if (!data)
		return r;
	memcpy(&v, data + q->offset, sizeof(v));
	answer_int(out, v);
	return 0;
}

/* Copper has a technology of its own in both tables of SFF and CMIS; the rest is light. */
static const char *module_medium(unsigned technology)
{
	return technology == 0x0a || technology == 0x0b	  ? "passive copper cable"
	       : technology >= 0x0c && technology <= 0x0f ? "active copper cable"
	       : technology == 0x08			  ? "other"
							  : "optical";
}

/* "QSFP28, passive copper cable, 1 m": what a module or cable says of itself in the 256 bytes that
 * ethtool shows first, in the arena. NULL: no kind that is known. Source: SFF-8024, SFF-8472,
 * SFF-8636, CMIS 5.2. */
static const char *ethtool_module_text(struct arena *a, const unsigned char bytes[256])
{
	enum { SFF_8472, SFF_8636, CMIS };
	static const struct {
		unsigned char identifier, layout;
		const char *name;
	} kinds[] = {
		{ 0x03, SFF_8472, "SFP" },    { 0x0c, SFF_8636, "QSFP" },
		{ 0x0d, SFF_8636, "QSFP+" },  { 0x11, SFF_8636, "QSFP28" },
		{ 0x18, CMIS, "QSFP-DD" },    { 0x19, CMIS, "OSFP" },
		{ 0x1e, CMIS, "QSFP, CMIS" },
	};
	static const unsigned tenths[] = { 1, 10, 100, 1000 };
	size_t i = 0;
	const char *medium;
	unsigned length; /* of a cable, in tenths of a meter; 0: it does not say */

	while (i < sizeof(kinds) / sizeof(kinds[0]) && kinds[i].identifier != bytes[0])
		i++;
	if (i == sizeof(kinds) / sizeof(kinds[0]))
		return NULL;
	if (kinds[i].layout == SFF_8472) {
		medium = bytes[8] & 4	? "passive copper cable"
			 : bytes[8] & 8 ? "active copper cable"
					: "optical";
		length = bytes[8] & 0x0c ? bytes[18] * 10u : 0;
	} else if (kinds[i].layout == SFF_8636) {
		medium = module_medium(bytes[147] >> 4);
		length = bytes[146] * 10u;
	} else {
		medium = module_medium(bytes[212]);
		length = (bytes[202] & 0x3f) * tenths[bytes[202] >> 6];
	}
	return length % 10 ? arena_printf(a, "%s, %s, %u.%u m", kinds[i].name, medium, length / 10,
					  length % 10)
	       : length	   ? arena_printf(a, "%s, %s, %u m", kinds[i].name, medium, length / 10)
			   : arena_printf(a, "%s, %s", kinds[i].name, medium);
}

/* Of whom may configure the network alone. It takes the NIC milliseconds. */
static int module_field(struct ethtool_state *s, struct arena *a, struct answer *out)
{
	struct ethtool_modinfo info = { 0 };
	enum { BYTES = 256 };
	_Alignas(struct ethtool_eeprom) char room[sizeof(struct ethtool_eeprom) + BYTES] = { 0 };
	struct ethtool_eeprom *e = (struct ethtool_eeprom *)room;
	int r = ethtool_request(s, ETHTOOL_GMODULEINFO, &info);
	const char *text;

	if (r == 0 && info.eeprom_len < BYTES)
		r = -EOPNOTSUPP;
	e->len = BYTES;
	if (r == 0)
		r = ethtool_request(s, ETHTOOL_GMODULEEEPROM, e);
	if (r)
		return r;
	text = ethtool_module_text(a, e->data);
	if (!text)
		return -EOPNOTSUPP;
	answer_text(out, text);
	return 0;
}

static void forget(struct interface *i)
{
	i->driver_r = i->ring_r = i->coalesce_r = i->channels_r = 1;
	i->asked = 0;
}

static struct ethtool_state *state_for(void **state, const char *name)
{
	struct ethtool_state *s = *state;

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return NULL;
		s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		s->error = s->fd < 0 ? -errno : 0;
		*state = s;
	}
	if (strcmp(s->last.name, name) != 0) {
		memset(&s->last, 0, sizeof(s->last));
		memcpy(s->last.name, name, strlen(name) + 1);
		forget(&s->last);
	}
	return s;
}

/* The state for the interface with a socket; NULL and *r. */
static struct ethtool_state *ready(void **state, const char *object, int *r)
{
	struct ethtool_state *s;

	*r = -EINVAL;
	if (!*object || strlen(object) >= IFNAMSIZ)
		return NULL;
	s = state_for(state, object);
	*r = s ? s->error : -ENOMEM;
	return *r ? NULL : s;
}

static int ethtool_ask(void **state, struct arena *a, const char *object, const char *field,
		       struct answer *out)
{
	const struct question *q = rule_ctx_of(field);
	struct ethtool_state *s;
	unsigned bit;
	int r;

	if (!q)
		return -EINVAL;
	s = ready(state, object, &r);
	if (!s)
		return r;
	bit = 1u << (q - questions);
	if (s->last.asked & bit)
		forget(&s->last);
	s->last.asked |= bit;
	return q->request == DRIVER   ? driver_field(s, a, field, out)
	       : q->request == MODULE ? module_field(s, a, out)
				      : number_field(s, q, out);
}

/* Get, modify, set: a request carries all of its struct, and what is not meant must stay. */
static int ethtool_set(void **state, struct arena *a, const char *object, const char *field,
		       const struct answer *value)
{
	static const unsigned sets[] = { [RING] = ETHTOOL_SRINGPARAM,
					 [COALESCE] = ETHTOOL_SCOALESCE,
					 [CHANNELS] = ETHTOOL_SCHANNELS };
	const struct question *q = rule_ctx_of(field);
	struct ethtool_state *s;
	__u32 v, max;
	char *data;
	int r;

	(void)a;
	if (!q || value->kind != ANSWER_INT)
		return -EINVAL;
	if (!q->told)
		return -EOPNOTSUPP;
	if (value->i < 0 || value->i > UINT32_MAX)
		return -ERANGE;
	s = ready(state, object, &r);
	if (!s)
		return r;
	forget(&s->last);
	data = ethtool_numbers(s, q, &r);
	if (!data)
		return r;
	if (q->limit) {
		memcpy(&max, data + q->limit, sizeof(max));
		if (value->i > max)
			return -ERANGE;
	}
	v = (__u32)value->i;
	memcpy(data + q->offset, &v, sizeof(v));
	r = ethtool_request(s, sets[q->request], data);
	/* One setting can move another: whatever is asked next is asked anew. */
	forget(&s->last);
	return r;
}

static void ethtool_close(void *state)
{
	struct ethtool_state *s = state;

	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

const struct provider provider_ethtool = {
	.api = "ethtool", .ask = ethtool_ask, .tell = ethtool_set, .close = ethtool_close
};
