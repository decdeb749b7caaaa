/* SPDX-License-Identifier: Apache-2.0 */
/* Driver, ring, coalescing and channel questions to network drivers, by ioctl. Object: the
 * interface. Only GET requests. */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/ask.h"

/* What one interface answered; each request is made once. */
struct interface {
	char name[IFNAMSIZ];
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

static int request(struct ethtool_state *s, unsigned command, void *data)
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
		*r = request(s, command, data);
	return *r;
}

/* A text field of the kernel's, perhaps without its end. */
static int text(struct arena *a, const char *field, size_t cap, struct answer *out)
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
		return text(a, d->driver, sizeof(d->driver), out);
	if (strcmp(field, "version") == 0)
		return text(a, d->version, sizeof(d->version), out);
	return text(a, d->fw_version, sizeof(d->fw_version), out);
}

enum request { DRIVER, RING, COALESCE, CHANNELS };

/* The fields have the names of the kernel's structs. */
static const struct question {
	const char *field;
	enum request request;
	size_t offset; /* of a __u32 in the request's struct */
} questions[] = {
	{ "driver", DRIVER, 0 },
	{ "version", DRIVER, 0 },
	{ "fw_version", DRIVER, 0 },
	{ "rx_pending", RING, offsetof(struct ethtool_ringparam, rx_pending) },
	{ "rx_max_pending", RING, offsetof(struct ethtool_ringparam, rx_max_pending) },
	{ "tx_pending", RING, offsetof(struct ethtool_ringparam, tx_pending) },
	{ "tx_max_pending", RING, offsetof(struct ethtool_ringparam, tx_max_pending) },
	{ "rx_coalesce_usecs", COALESCE, offsetof(struct ethtool_coalesce, rx_coalesce_usecs) },
	{ "tx_coalesce_usecs", COALESCE, offsetof(struct ethtool_coalesce, tx_coalesce_usecs) },
	{ "use_adaptive_rx_coalesce", COALESCE,
	  offsetof(struct ethtool_coalesce, use_adaptive_rx_coalesce) },
	{ "combined_count", CHANNELS, offsetof(struct ethtool_channels, combined_count) },
	{ "max_combined", CHANNELS, offsetof(struct ethtool_channels, max_combined) },
};

static int number_field(struct ethtool_state *s, const struct question *q, struct answer *out)
{
	struct interface *i = &s->last;
	const char *data;
	__u32 v;
	int r;

	if (q->request == RING) {
		r = once(s, &i->ring_r, ETHTOOL_GRINGPARAM, &i->ring);
		data = (const char *)&i->ring;
	} else if (q->request == COALESCE) {
		r = once(s, &i->coalesce_r, ETHTOOL_GCOALESCE, &i->coalesce);
		data = (const char *)&i->coalesce;
	} else {
		r = once(s, &i->channels_r, ETHTOOL_GCHANNELS, &i->channels);
		data = (const char *)&i->channels;
	}
	if (r)
		return r;
	memcpy(&v, data + q->offset, sizeof(v));
	answer_int(out, v);
	return 0;
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
		s->last.driver_r = s->last.ring_r = s->last.coalesce_r = s->last.channels_r = 1;
	}
	return s;
}

static int ethtool_ask(void **state, struct arena *a, const char *object, const char *field,
		       struct answer *out)
{
	const struct question *q = questions;
	const struct question *end = q + sizeof(questions) / sizeof(questions[0]);
	struct ethtool_state *s;

	if (!*object || strlen(object) >= IFNAMSIZ)
		return -EINVAL;
	while (q < end && strcmp(field, q->field) != 0)
		q++;
	if (q == end)
		return -EINVAL;
	s = state_for(state, object);
	if (!s)
		return -ENOMEM;
	if (s->error)
		return s->error;
	return q->request == DRIVER ? driver_field(s, a, field, out) : number_field(s, q, out);
}

static void ethtool_close(void *state)
{
	struct ethtool_state *s = state;

	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

const struct provider provider_ethtool = { .api = "ethtool",
					   .ask = ethtool_ask,
					   .close = ethtool_close };
