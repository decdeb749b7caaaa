/* SPDX-License-Identifier: Apache-2.0 */
/* The secret of a request, and whether anybody still waits for its answer. */
#include <string.h>
#include <poll.h>

#include "many/cluster/ask.h"

bool ask_stopped(const struct ask_node *n)
{
	struct pollfd p = { .fd = n->in, .events = POLLRDHUP };

	if (atomic_load(n->stop))
		return true;
	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLRDHUP | POLLERR));
}

size_t token_bytes(const char *hex, uint8_t *out, size_t room)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = strlen(hex);

	if (n % 2 || n / 2 > room || strspn(hex, digits) != n)
		return 0;
	for (size_t i = 0; i < n; i += 2)
		out[i / 2] = (uint8_t)((strchr(digits, hex[i]) - digits) << 4 |
				       (strchr(digits, hex[i + 1]) - digits));
	return n / 2;
}
