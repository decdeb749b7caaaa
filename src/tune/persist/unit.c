/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The boot-time unit: writes what no file of the system's own keeps, and the report of the boot.
 * It is given as little as its rows need. It undoes nothing when it stops.
 */
#include <string.h>

#include "base/text.h"
#include "tune/persist/persist.h"
#include "tune/persist/quote.h"

struct needs {
	bool gpu, pci, link;
	bool loads_driver; /* nobody else loads the GPU driver and makes its devices */
};

static struct needs needs_of(const struct machine *m, const struct persist *p)
{
	const struct service *daemon = machine_service(m, "nvidia-persistenced.service");
	struct needs out = { 0 };

	for (size_t i = 0; i < p->n; i++) {
		if (p->rows[i].keeper != KEEPER_UNIT)
			continue;
		out.gpu |= p->rows[i].knob.kind == KNOB_NVML || p->rows[i].knob.kind == KNOB_HELPER;
		out.pci |= p->rows[i].knob.kind == KNOB_PCI;
		out.link |= p->rows[i].knob.kind == KNOB_LINK;
	}
	out.loads_driver = out.gpu && !(daemon && fact_or(&daemon->enabled, 0) == 1);
	return out;
}

/*
 * After whatever may set the same (the driver's daemon, tuned, the managers of links), before what
 * runs work. Ordering alone: none of them is pulled in.
 */
static const char order[] =
	"After=nvidia-persistenced.service nvidia-fabricmanager.service\n"
	"After=systemd-modules-load.service systemd-sysctl.service systemd-tmpfiles-setup.service\n"
	"After=tuned.service power-profiles-daemon.service cpupower.service\n"
	"After=network.target NetworkManager.service systemd-networkd.service\n"
	"Before=slurmd.service kubelet.service docker.service\n";

/* What a unit that writes to /sys can do without, whatever it writes. A call that it may not make
 * (it reads the machine first, the kernel's log too) is refused, and does not end it. */
static const char hardening[] = "NoNewPrivileges=yes\n"
				"ProtectSystem=strict\n"
				"ReadWritePaths=/var/lib/gputune\n"
				"ProtectHome=yes\n"
				"PrivateTmp=yes\n"
				"ProtectClock=yes\n"
				"ProtectControlGroups=yes\n"
				"ProtectHostname=yes\n"
				"ProtectKernelLogs=yes\n"
				"RestrictNamespaces=yes\n"
				"RestrictRealtime=yes\n"
				"RestrictSUIDSGID=yes\n"
				"LockPersonality=yes\n"
				"SystemCallArchitectures=native\n"
				"SystemCallErrorNumber=EPERM\n"
				"IPAddressDeny=any\n"
				"UMask=0077\n"
				"KeyringMode=private\n";

/* The driver's own loader makes devices and modules; a library of the driver may map code. */
static void privileges(struct text *t, const struct needs *n)
{
	text_add(t, "CapabilityBoundingSet=CAP_SYS_ADMIN");
	text_add(t, n->link ? " CAP_NET_ADMIN" : "");
	text_add(t, n->loads_driver ? " CAP_SYS_MODULE CAP_MKNOD" : "");
	text_add(t, "\nSystemCallFilter=@system-service");
	text_add(t, n->loads_driver ? " @module mknod mknodat\n" : "\n");
	text_add(t, n->loads_driver ? "" : "ProtectKernelModules=yes\n");
	text_add(t, n->gpu ? "" : "MemoryDenyWriteExecute=yes\n");
	if (!n->loads_driver) {
		text_add(t, "DevicePolicy=closed\n");
		text_add(t, n->gpu ? "DeviceAllow=char-nvidia rw\nDeviceAllow=char-nvidiactl rw\n"
				     "DeviceAllow=char-nvidia-frontend rw\n"
				     "DeviceAllow=char-nvidia-caps rw\n"
				     "DeviceAllow=char-nvidia-nvswitch rw\n"
				     "DeviceAllow=char-nvidia-uvm rw\n"
				   : "");
	}
	/* Netlink names the interfaces, a datagram socket carries ethtool's requests. */
	text_add(t, "RestrictAddressFamilies=AF_UNIX AF_NETLINK AF_INET\n");
}

const char *persist_unit(struct arena *a, const struct machine *m, const struct persist *p,
			 const char *program)
{
	TEXT_AUTO t = { 0 };
	struct needs n = needs_of(m, p);

	persist_header(&t, p->rows, p->n, KEEPER_UNIT, PERSIST_UNIT_NAME);
	text_add(&t, "[Unit]\n"
		     "Description=GPU machine settings that do not outlive a boot by themselves\n"
		     "ConditionPathExists=" PERSIST_REQUEST "\n");
	text_add(&t, order);
	text_add(&t, "\n[Service]\nType=oneshot\nRemainAfterExit=yes\n");
	text_printf(&t, "ExecStart=%s apply --boot\n", quote_unit(a, program, NULL));
	text_add(&t, "TimeoutStartSec=3min\nStateDirectory=gputune\nStateDirectoryMode=0700\n");
	text_add(&t, hardening);
	privileges(&t, &n);
	text_add(&t, "\n[Install]\nWantedBy=multi-user.target\n");
	return arena_strdup(a, t.s);
}
