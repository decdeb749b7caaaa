/* SPDX-License-Identifier: Apache-2.0 */
/* What rtnetlink answers: addresses and the largest MTU, and every way to be refused. The kernel
 * here is send() and recv() below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "machine/host/ask.h"

enum { ROOM = 1024, MESSAGES = 16 };

/* What is to be received, one message each, in this order. */
static struct kernel {
	_Alignas(struct nlmsghdr) char bytes[MESSAGES][ROOM];
	size_t len[MESSAGES], n, next;
	/* What was sent last of the types that change something. */
	struct {
		unsigned n, type;
		char bytes[ROOM];
		size_t len;
	} told;
} kernel;

ssize_t __wrap_send(int fd, const void *buf, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t n, int flags);
ssize_t __wrap___recv_chk(int fd, void *buf, size_t n, size_t room, int flags);
unsigned __wrap_if_nametoindex(const char *name);

ssize_t __wrap_send(int fd, const void *buf, size_t n, int flags)
{
	const struct nlmsghdr *h = buf;

	(void)fd;
	(void)flags;
	if (h->nlmsg_type == RTM_NEWADDR || h->nlmsg_type == RTM_DELADDR) {
		assert_true(n <= ROOM);
		memcpy(kernel.told.bytes, buf, n);
		kernel.told.len = n;
		kernel.told.type = h->nlmsg_type;
		kernel.told.n++;
	}
	return (ssize_t)n;
}

ssize_t __wrap_recv(int fd, void *buf, size_t n, int flags)
{
	size_t len;

	(void)fd;
	(void)flags;
	if (kernel.next == kernel.n) {
		errno = EAGAIN;
		return -1;
	}
	len = kernel.len[kernel.next];
	assert_true(len <= n);
	memcpy(buf, kernel.bytes[kernel.next++], len);
	return (ssize_t)len;
}

/* With the C library's own checks. */
ssize_t __wrap___recv_chk(int fd, void *buf, size_t n, size_t room, int flags)
{
	(void)room;
	return __wrap_recv(fd, buf, n, flags);
}

unsigned __wrap_if_nametoindex(const char *name)
{
	return strcmp(name, "eth0") == 0 ? 2 : 0;
}

/* A message of that type; its end is what was added last. */
static struct nlmsghdr *begin(unsigned type, const void *head, size_t n)
{
	struct nlmsghdr *h = (void *)kernel.bytes[kernel.n];

	assert_true(kernel.n < MESSAGES);
	memset(h, 0, ROOM);
	h->nlmsg_type = (__u16)type;
	h->nlmsg_len = (__u32)NLMSG_LENGTH(n);
	memcpy(NLMSG_DATA(h), head, n);
	kernel.len[kernel.n++] = h->nlmsg_len;
	return h;
}

static void attribute(struct nlmsghdr *h, unsigned type, const void *data, size_t n)
{
	struct rtattr *a = (void *)((char *)h + NLMSG_ALIGN(h->nlmsg_len));

	a->rta_type = (unsigned short)type;
	a->rta_len = (unsigned short)RTA_LENGTH(n);
	memcpy(RTA_DATA(a), data, n);
	h->nlmsg_len = (__u32)(NLMSG_ALIGN(h->nlmsg_len) + RTA_ALIGN(a->rta_len));
	kernel.len[kernel.n - 1] = h->nlmsg_len;
}

static void say_link(void)
{
	const struct ifinfomsg info = { .ifi_index = 2 };
	struct nlmsghdr *h = begin(RTM_NEWLINK, &info, sizeof(info));
	__u32 most = 9978;

	attribute(h, IFLA_IFNAME, "eth0", 5);
	attribute(h, IFLA_MAX_MTU, &most, sizeof(most));
}

static void say_address(const char *dotted)
{
	const struct ifaddrmsg info = { .ifa_family = AF_INET,
					.ifa_prefixlen = 24,
					.ifa_index = 2 };
	struct nlmsghdr *h = begin(RTM_NEWADDR, &info, sizeof(info));
	struct in_addr ip;

	assert_int_equal(inet_pton(AF_INET, dotted, &ip), 1);
	attribute(h, IFA_LOCAL, &ip, sizeof(ip));
}

static void say_result(unsigned type, int error)
{
	begin(type, &error, sizeof(error));
}

static int ask(const char *field, struct arena *a, struct answer *out)
{
	void *state = NULL;
	int r;

	kernel.next = 0;
	*out = (struct answer){ .kind = ANSWER_INT };
	r = provider_interface.ask(&state, a, "eth0", field, out);
	if (r == 0 && out->kind == ANSWER_TEXT)
		out->text = arena_strdup(a, out->text);
	provider_interface.close(state);
	kernel.n = 0;
	return r;
}

static void test_dumps(void **state)
{
	struct arena a = { 0 };
	struct answer out;

	(void)state;
	say_link();
	say_result(NLMSG_DONE, 0);
	say_address("10.0.0.1");
	say_address("10.0.0.2");
	say_result(NLMSG_DONE, 0);
	assert_int_equal(ask("ipv4", &a, &out), 0);
	assert_string_equal(out.text, "10.0.0.1/24 10.0.0.2/24");
	say_link();
	say_result(NLMSG_DONE, 0);
	begin(NLMSG_DONE, "", 0);
	assert_int_equal(ask("max_mtu", &a, &out), 0);
	assert_int_equal(out.i, 9978);
	arena_free(&a);
}

/* An errno or nothing that is one; a dump that failed on the way is not half of the truth. */
static void test_refusals(void **state)
{
	static const struct {
		unsigned type;
		int said, answer;
	} rows[] = { { NLMSG_ERROR, -EPERM, -EPERM },
		     { NLMSG_ERROR, 256, -EPROTO },
		     { NLMSG_ERROR, INT32_MIN, -EPROTO },
		     { NLMSG_DONE, -ENOBUFS, -ENOBUFS } };
	struct arena a = { 0 };
	struct answer out;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		say_link();
		say_result(rows[i].type, rows[i].said);
		say_result(NLMSG_DONE, 0);
		assert_int_equal(ask("max_mtu", &a, &out), rows[i].answer);
	}
	begin(NLMSG_ERROR, "", 0);
	assert_int_equal(ask("max_mtu", &a, &out), -EPROTO);
	arena_free(&a);
}

/* Lengths that reach beyond what was received, or are no lengths: nothing of it is read. */
static void test_lengths(void **state)
{
	static const struct {
		__u32 message;
		unsigned short attribute;
	} rows[] = { { 0, 8 },		{ 15, 8 },	   { 17, 8 },	      { 0x7fffffff, 8 },
		     { 0x80000000, 8 }, { 0xfffffff0, 8 }, { 0xffffffff, 8 }, { 40, 0 },
		     { 40, 3 },		{ 40, 0xffff } };
	const struct ifinfomsg info = { .ifi_index = 2 };
	struct arena a = { 0 };
	struct answer out;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nlmsghdr *h = begin(RTM_NEWLINK, &info, sizeof(info));

		attribute(h, IFLA_IFNAME, "eth0", 4);
		((struct rtattr *)((char *)h + NLMSG_LENGTH(sizeof(info))))->rta_len =
			rows[i].attribute;
		h->nlmsg_len = rows[i].message;
		say_result(NLMSG_DONE, 0);
		say_result(NLMSG_DONE, 0);
		assert_int_equal(ask("ipv4", &a, &out), -ENOENT);
	}
	arena_free(&a);
}

static void test_told(void **state)
{
	const struct answer wanted = { .kind = ANSWER_TEXT, .text = "10.0.0.2/24" };
	static const int said[][2] = {
		{ 0, 0 }, { -EEXIST, 0 }, { -EPERM, -EPERM }, { 1, -EPROTO }
	};
	struct arena a = { 0 };
	void *mine = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct nlmsgerr answer = { .error = said[i][0] };

		kernel.n = kernel.next = 0;
		say_link();
		say_result(NLMSG_DONE, 0);
		say_result(NLMSG_DONE, 0);
		begin(NLMSG_ERROR, &answer, sizeof(answer));
		assert_int_equal(provider_interface.tell(&mine, &a, "eth0", "ipv4", &wanted),
				 said[i][1]);
	}
	arena_free(&a);
}

/* The first address of a network takes the others along: they are told back as they were. */
static void test_taken_along(void **state)
{
	const struct answer wanted = { .kind = ANSWER_TEXT, .text = "10.0.0.2/24" };
	static const int said[] = { 0, -EPERM };
	struct arena a = { 0 };
	void *mine = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct nlmsgerr good = { .error = 0 }, back = { .error = said[i] };
		size_t theirs = 0;

		memset(&kernel, 0, sizeof(kernel));
		say_link();
		say_result(NLMSG_DONE, 0);
		for (int again = 0; again < 2; again++) {
			say_address("10.0.0.1");
			say_address("10.0.0.2");
			theirs = kernel.n - 1;
			attribute((void *)kernel.bytes[theirs], IFA_LABEL, "eth0:b", 7);
			say_result(NLMSG_DONE, 0);
		}
		begin(NLMSG_ERROR, &good, sizeof(good));
		say_result(NLMSG_DONE, 0);
		begin(NLMSG_ERROR, &back, sizeof(back));
		assert_int_equal(provider_interface.tell(&mine, &a, "eth0", "ipv4", &wanted),
				 said[i]);
		assert_int_equal(kernel.told.n, 2);
		assert_int_equal(kernel.told.type, RTM_NEWADDR);
		assert_int_equal(kernel.told.len, kernel.len[theirs]);
		assert_memory_equal(kernel.told.bytes + NLMSG_HDRLEN,
				    kernel.bytes[theirs] + NLMSG_HDRLEN,
				    kernel.told.len - NLMSG_HDRLEN);
		assert_int_equal(kernel.next, kernel.n);
	}
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dumps),	    cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_lengths),	    cmocka_unit_test(test_told),
		cmocka_unit_test(test_taken_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
