/* SPDX-License-Identifier: Apache-2.0 */
/* What is told to a network driver: one field changes, the others of its request stay, limits hold,
 * and nothing that was answered before is taken for the present. The kernel here is ioctl() below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <sys/ioctl.h>

#include "machine/host/ask.h"

/* One driver; a new number of channels makes its rings anew. */
static struct driver {
	struct ethtool_ringparam ring;
	struct ethtool_channels channels;
	struct ethtool_coalesce coalesce;
	int gets, sets, refuses;
	unsigned char module[256];
	__u32 module_bytes;
} driver;

static int put(void *mine, void *theirs, size_t size, bool set)
{
	__u32 cmd = *(__u32 *)theirs;

	if (set && driver.refuses) {
		errno = driver.refuses;
		return -1;
	}
	memcpy(set ? mine : theirs, set ? theirs : mine, size);
	*(__u32 *)theirs = cmd;
	driver.gets += !set;
	driver.sets += set;
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct ifreq *ifr;
	va_list ap;
	void *data;

	(void)fd;
	va_start(ap, request);
	ifr = va_arg(ap, struct ifreq *);
	va_end(ap);
	assert_int_equal(request, SIOCETHTOOL);
	data = ifr->ifr_data;
	if (strcmp(ifr->ifr_name, "eth0") != 0) {
		errno = ENODEV;
		return -1;
	}
	switch (*(__u32 *)data) {
	case ETHTOOL_GRINGPARAM:
	case ETHTOOL_SRINGPARAM:
		return put(&driver.ring, data, sizeof(driver.ring),
			   *(__u32 *)data == ETHTOOL_SRINGPARAM);
	case ETHTOOL_GCHANNELS:
		return put(&driver.channels, data, sizeof(driver.channels), false);
	case ETHTOOL_SCHANNELS:
		driver.ring.rx_pending = 256;
		return put(&driver.channels, data, sizeof(driver.channels), true);
	case ETHTOOL_GCOALESCE:
	case ETHTOOL_SCOALESCE:
		return put(&driver.coalesce, data, sizeof(driver.coalesce),
			   *(__u32 *)data == ETHTOOL_SCOALESCE);
	case ETHTOOL_GMODULEINFO:
		((struct ethtool_modinfo *)data)->eeprom_len = driver.module_bytes;
		return 0;
	case ETHTOOL_GMODULEEEPROM:
		assert_int_equal(((struct ethtool_eeprom *)data)->offset, 0);
		assert_int_equal(((struct ethtool_eeprom *)data)->len, sizeof(driver.module));
		memcpy(((struct ethtool_eeprom *)data)->data, driver.module, sizeof(driver.module));
		return 0;
	default:
		errno = EOPNOTSUPP;
		return -1;
	}
}

struct session {
	void *state;
	struct arena a;
};

static int begin(void **state)
{
	static struct session s;

	memset(&s, 0, sizeof(s));
	driver = (struct driver){
		.ring = { .rx_max_pending = 8192,
			  .tx_max_pending = 4096,
			  .rx_pending = 1024,
			  .tx_pending = 512,
			  .rx_jumbo_pending = 7 },
		.channels = { .max_combined = 63, .combined_count = 16, .other_count = 1 },
		.coalesce = { .rx_coalesce_usecs = 8,
			      .tx_coalesce_usecs = 16,
			      .use_adaptive_rx_coalesce = 1,
			      .rx_max_coalesced_frames = 128 },
	};
	*state = &s;
	return 0;
}

static int end(void **state)
{
	struct session *s = *state;

	if (s->state)
		provider_ethtool.close(s->state);
	arena_free(&s->a);
	return 0;
}

static long long ask(struct session *s, const char *field)
{
	struct answer out = { 0 };

	assert_int_equal(provider_ethtool.ask(&s->state, &s->a, "eth0", field, &out), 0);
	return out.i;
}

static int tell(struct session *s, const char *field, long long v)
{
	struct answer value = { .kind = ANSWER_INT, .i = v };

	return provider_ethtool.tell(&s->state, &s->a, "eth0", field, &value);
}

static void test_one_field(void **state)
{
	struct session *s = *state;
	struct driver before = driver;

	assert_int_equal(tell(s, "rx_pending", 8192), 0);
	assert_int_equal(driver.ring.rx_pending, 8192);
	assert_int_equal(ask(s, "rx_pending"), 8192);
	before.ring.rx_pending = 8192;
	assert_memory_equal(&driver.ring.rx_max_pending, &before.ring.rx_max_pending,
			    sizeof(before.ring) - sizeof(__u32));
	assert_int_equal(tell(s, "tx_coalesce_usecs", 0), 0);
	assert_int_equal(tell(s, "use_adaptive_rx_coalesce", 0), 0);
	assert_int_equal(tell(s, "use_adaptive_tx_coalesce", 1), 0);
	assert_int_equal(driver.coalesce.rx_coalesce_usecs, 8);
	assert_int_equal(driver.coalesce.rx_max_coalesced_frames, 128);
	assert_int_equal(driver.coalesce.tx_coalesce_usecs, 0);
	assert_int_equal(driver.coalesce.use_adaptive_rx_coalesce, 0);
	assert_int_equal(ask(s, "use_adaptive_tx_coalesce"), 1);
	assert_int_equal(driver.sets, 4);
}

static void test_limits(void **state)
{
	struct session *s = *state;
	struct answer text = { .kind = ANSWER_TEXT, .text = "8" };

	assert_int_equal(tell(s, "rx_pending", 8193), -ERANGE);
	assert_int_equal(tell(s, "tx_pending", 4097), -ERANGE);
	assert_int_equal(tell(s, "combined_count", 64), -ERANGE);
	assert_int_equal(tell(s, "rx_coalesce_usecs", 1ll << 32), -ERANGE);
	assert_int_equal(tell(s, "rx_pending", -1), -ERANGE);
	assert_int_equal(tell(s, "rx_max_pending", 8), -EOPNOTSUPP);
	assert_int_equal(tell(s, "driver", 8), -EOPNOTSUPP);
	assert_int_equal(tell(s, "unheard", 8), -EINVAL);
	assert_int_equal(provider_ethtool.tell(&s->state, &s->a, "eth0", "rx_pending", &text),
			 -EINVAL);
	text.kind = ANSWER_INT;
	assert_int_equal(provider_ethtool.tell(&s->state, &s->a, "eth1", "rx_pending", &text),
			 -ENODEV);
	assert_int_equal(provider_ethtool.tell(&s->state, &s->a, "", "rx_pending", &text), -EINVAL);
	assert_int_equal(
		provider_ethtool.tell(&s->state, &s->a, "sixteen-letters-", "rx_pending", &text),
		-EINVAL);
	driver.refuses = EBUSY;
	assert_int_equal(tell(s, "rx_pending", 100), -EBUSY);
	assert_int_equal(ask(s, "rx_pending"), 1024);
	assert_int_equal(driver.sets, 0);
}

/* Different questions of one request cost one; the same one again is asked of the driver again. */
static void test_present(void **state)
{
	struct session *s = *state;

	assert_int_equal(ask(s, "rx_pending"), 1024);
	assert_int_equal(ask(s, "rx_max_pending"), 8192);
	assert_int_equal(ask(s, "tx_pending"), 512);
	assert_int_equal(driver.gets, 1);
	driver.ring.rx_pending = 2048;
	assert_int_equal(ask(s, "rx_pending"), 2048);
	assert_int_equal(driver.gets, 2);
	assert_int_equal(tell(s, "combined_count", 8), 0);
	assert_int_equal(ask(s, "combined_count"), 8);
	assert_int_equal(ask(s, "rx_pending"), 256);
	assert_int_equal(driver.channels.other_count, 1);
}

/* What the NIC's module says of itself. */
static void test_module(void **state)
{
	static const struct {
		struct {
			unsigned char at, is;
		} bytes[4];
		const char *text;
	} rows[] = {
		{ { { 0, 0x11 }, { 146, 1 }, { 147, 0xa0 } }, "QSFP28, passive copper cable, 1 m" },
		{ { { 0, 0x0d }, { 146, 3 }, { 147, 0xd0 } }, "QSFP+, active copper cable, 3 m" },
		{ { { 0, 0x11 }, { 147, 0x00 } }, "QSFP28, optical" },
		{ { { 0, 0x11 }, { 146, 10 }, { 147, 0x00 } }, "QSFP28, optical, 10 m" },
		{ { { 0, 0x11 }, { 147, 0x80 } }, "QSFP28, other" },
		{ { { 0, 0x03 }, { 8, 4 }, { 18, 2 } }, "SFP, passive copper cable, 2 m" },
		{ { { 0, 0x03 }, { 18, 30 } }, "SFP, optical" },
		{ { { 0, 0x18 }, { 202, 0x05 }, { 212, 0x0a } },
		  "QSFP-DD, passive copper cable, 0.5 m" },
		{ { { 0, 0x19 }, { 202, 0x43 }, { 212, 0x0c } }, "OSFP, active copper cable, 3 m" },
		{ { { 0, 0x19 }, { 202, 0xbf }, { 212, 0x10 } }, "OSFP, optical, 630 m" },
	};
	struct session *s = *state;
	struct answer out = { 0 };

	driver.module_bytes = sizeof(driver.module);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(driver.module, 0, sizeof(driver.module));
		for (size_t k = 0; k < 4; k++)
			driver.module[rows[i].bytes[k].at] |= rows[i].bytes[k].is;
		assert_int_equal(provider_ethtool.ask(&s->state, &s->a, "eth0", "module", &out), 0);
		assert_string_equal(out.text, rows[i].text);
	}
	/* "No separable connector", as every port of a DGX Spark says; and too few bytes. */
	driver.module[0] = 0x0b;
	assert_int_equal(provider_ethtool.ask(&s->state, &s->a, "eth0", "module", &out),
			 -EOPNOTSUPP);
	driver.module_bytes = 128;
	assert_int_equal(provider_ethtool.ask(&s->state, &s->a, "eth0", "module", &out),
			 -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_field, begin, end),
		cmocka_unit_test_setup_teardown(test_limits, begin, end),
		cmocka_unit_test_setup_teardown(test_present, begin, end),
		cmocka_unit_test_setup_teardown(test_module, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
