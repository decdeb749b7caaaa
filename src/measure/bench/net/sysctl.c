/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers below /proc/sys/net, which shows the namespace of who reads. */
#include "measure/bench/net/sysctl.h"

#include <stdio.h>
#include <stdlib.h>

static int number(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[32];
	long v = -1;

	if (!f)
		return -1;
	if (fgets(line, sizeof(line), f))
		v = strtol(line, NULL, 0);
	fclose(f);
	return v < 0 || v > 0xffff ? -1 : (int)v;
}

int sysctl_fast_open(void)
{
	int v = number("/proc/sys/net/ipv4/tcp_fastopen");

	return v < 0 ? 0 : v;
}

int sysctl_slow_start_after_idle(void)
{
	return number("/proc/sys/net/ipv4/tcp_slow_start_after_idle");
}
