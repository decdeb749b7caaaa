/* SPDX-License-Identifier: Apache-2.0 */
/* Driver, ring, coalescing and channel questions to network drivers, by ioctl. Object: the interface. Only GET requests. */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
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

static int driver_field(struct ethtool_state *s, struct arena *a, const char *field, struct answer *out)
{
	struct ethtool_drvinfo *d = &s->last.driver;
	int r = once(s, &s->last.driver_r, ETHTOOL_GDRVINFO, d);

	if (r)
		return r;
	if (strcmp(field, "driver") == 0)
		return text(a, d->driver, sizeof(d->driver), out);
	if (strcmp(field, "driver_version") == 0)
		return text(a, d->version, sizeof(d->version), out);
	return text(a, d->fw_version, sizeof(d->fw_version), out);
}

static int number(int r, long long v, struct answer *out)
{
	if (r == 0)
		answer_int(out, v);
	return r;
}

static int ring_field(struct ethtool_state *s, const char *field, struct answer *out)
{
	struct ethtool_ringparam *g = &s->last.ring;
	int r = once(s, &s->last.ring_r, ETHTOOL_GRINGPARAM, g);
	bool rx = field[0] == 'r', max = strlen(field) > strlen("rx_ring");

	return number(r, rx ? (max ? g->rx_max_pending : g->rx_pending) : (max ? g->tx_max_pending : g->tx_pending), out);
}

static int coalesce_field(struct ethtool_state *s, const char *field, struct answer *out)
{
	struct ethtool_coalesce *c = &s->last.coalesce;
	int r = once(s, &s->last.coalesce_r, ETHTOOL_GCOALESCE, c);

	if (strcmp(field, "adaptive_rx") == 0)
		return number(r, c->use_adaptive_rx_coalesce != 0, out);
	return number(r, field[0] == 'r' ? c->rx_coalesce_usecs : c->tx_coalesce_usecs, out);
}

static int channels_field(struct ethtool_state *s, const char *field, struct answer *out)
{
	struct ethtool_channels *c = &s->last.channels;
	int r = once(s, &s->last.channels_r, ETHTOOL_GCHANNELS, c);

	return number(r, strcmp(field, "channels") == 0 ? c->combined_count : c->max_combined, out);
}

static struct ethtool_state *state_for(void **state, const char *name)
{
	struct ethtool_state *s = *state;

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return NULL;
		s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		*state = s;
	}
	if (strcmp(s->last.name, name) != 0) {
		memset(&s->last, 0, sizeof(s->last));
		strncpy(s->last.name, name, IFNAMSIZ - 1);
		s->last.driver_r = s->last.ring_r = s->last.coalesce_r = s->last.channels_r = 1;
	}
	return s;
}

static int ethtool_ask(void **state, struct arena *a, const char *object, const char *field, struct answer *out)
{
	static const char *const driver[] = { "driver", "driver_version", "firmware" };
	static const char *const ring[] = { "rx_ring", "rx_ring_max", "tx_ring", "tx_ring_max" };
	static const char *const coalesce[] = { "rx_coalesce_us", "tx_coalesce_us", "adaptive_rx" };
	struct ethtool_state *s;

	if (strlen(object) >= IFNAMSIZ)
		return -EINVAL;
	s = state_for(state, object);
	if (!s || s->fd < 0)
		return -ENOMEM;
	for (size_t i = 0; i < 3; i++)
		if (strcmp(field, driver[i]) == 0)
			return driver_field(s, a, field, out);
	for (size_t i = 0; i < 4; i++)
		if (strcmp(field, ring[i]) == 0)
			return ring_field(s, field, out);
	for (size_t i = 0; i < 3; i++)
		if (strcmp(field, coalesce[i]) == 0)
			return coalesce_field(s, field, out);
	if (strcmp(field, "channels") == 0 || strcmp(field, "channels_max") == 0)
		return channels_field(s, field, out);
	return -EINVAL;
}

static void ethtool_close(void *state)
{
	struct ethtool_state *s = state;

	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

const struct provider provider_ethtool = { .api = "ethtool", .ask = ethtool_ask, .close = ethtool_close };
