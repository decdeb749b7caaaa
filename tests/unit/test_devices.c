/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces, RDMA ports, disks, file systems and ZFS as the probes find them in small captures. */
#include "box_world.h"

#include "look/probe/probe.h"

#define PORT "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"

static void test_interfaces(void **state)
{
	struct world *w = *state;
	const struct nic *n;

	root_link(w, "/sys/class/net/eth1",
		  "../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/virtio2/net/eth1");
	root(w, PORT "/virtio2/net/eth1/type", "1\n");
	root(w, PORT "/virtio2/net/eth1/operstate", "up\n");
	root(w, PORT "/virtio2/net/eth1/mtu", "9000\n");
	root(w, PORT "/virtio2/net/eth1/speed", "-1\n");
	root(w, PORT "/virtio2/net/eth1/statistics/rx_missed_errors", "7\n");
	root_link(w, PORT "/virtio2/net/eth1/device", "../../../virtio2");
	root_link(w, PORT "/virtio2/driver", "../../../../../bus/virtio/drivers/virtio_net");
	root_link(w, "/sys/class/net/eth10", "../../devices/platform/2310000.ethernet/net/eth10");
	root(w, "/sys/devices/platform/2310000.ethernet/net/eth10/type", "1\n");
	root(w, "/sys/devices/platform/2310000.ethernet/net/eth10/operstate", "up\n");
	root(w, "/sys/devices/platform/2310000.ethernet/net/eth10/speed", "");
	root_link(w, "/sys/devices/platform/2310000.ethernet/net/eth10/device", "../..");
	root_link(w, "/sys/class/net/veth0", "../../devices/virtual/net/veth0");
	root(w, "/sys/devices/virtual/net/veth0/type", "1\n");
	root(w, "/sys/devices/virtual/net/veth0/speed", "10000\n");
	root(w, "/sys/devices/virtual/net/veth0/operstate", "up\n");
	root(w, "/sys/class/net/bonding_masters", "bond0\n");
	root(w, "/run/systemd/network/10-netplan-eth10.network", "");
	root(w, "/etc/systemd/network/20-eth1.network", "");
	/* One that counts nowhere. */
	root(w, "/run/systemd/network/10-netplan-eth1.network", "");
	root_link(w, "/etc/systemd/network/10-netplan-eth1.network", "/dev/null");
	root(w, "/proc/net/softnet_stat",
	     "00000001 0000000a 00000000\n00000002 00000005 00000000\nrubbish\n");
	box_file(&w->box, "c/answers.tsv",
		 "/sys/devices/platform/2310000.ethernet/net/eth10/speed\tEINVAL\n");
	box_file(&w->box, "c/api/ethtool.json",
		 "{\"eth1\": {\"rx_pending\": 256, \"rx_max_pending\": 8192, \"fw_version\": "
		 "\"28.4\"}}");
	box_file(&w->box, "c/api/if.json",
		 "{\"eth1\": {\"ipv4\": \"10.1.2.3/24 10.9.0.1/16\", \"max_mtu\": 9978}, "
		 "\"eth10\": {\"ipv4\": \"10.1.2.77/24\"}, "
		 "\"veth0\": {\"ipv4\": \"10.1.2.78/24\"}}");
	world_open(w);
	probe_nic(&w->probe);

	assert_int_equal(w->machine.net.nics.n, 3);
	n = machine_nic(&w->machine, "eth1");
	assert_string_equal(n->pci, "0000:01:00.0");
	assert_string_equal(n->driver.v, "virtio_net");
	assert_string_equal(n->type.v, "ethernet");
	assert_string_equal(n->firmware.v, "28.4");
	assert_int_equal(n->rx_ring.v, 256);
	assert_int_equal(n->rx_ring_max.v, 8192);
	assert_int_equal(n->rx_missed.v, 7);
	assert_int_equal(n->max_mtu.v, 9978);
	assert_int_equal(n->speed_mbps.f.seen, SEEN_UNSUPPORTED);
	assert_string_equal(n->owner.v, "networkd"); /* netplan's file is of eth10 */
	n = machine_nic(&w->machine, "eth10");
	assert_string_equal(n->pci, "");
	assert_string_equal(n->owner.v, "netplan");
	assert_int_equal(n->speed_mbps.f.seen, SEEN_UNSUPPORTED); /* down: the kernel refuses */
	n = machine_nic(&w->machine, "veth0");
	assert_int_equal(n->speed_mbps.f.seen, SEEN_UNASKED);
	assert_int_equal(w->machine.net.softnet_dropped.v, 15);
	assert_int_equal(w->machine.net.bad_subnets.v, 1); /* veth0 shares theirs, on purpose */
}

#define HCA PORT "/infiniband/mlx5_0"

static void test_rdma(void **state)
{
	struct world *w = *state;
	const struct rdma_port *p;
	char name[512], zero[] = "0000:0000:0000:0000:0000:0000:0000:0000\n";

	root_link(w, "/sys/class/infiniband/mlx5_0",
		  "../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/infiniband/mlx5_0");
	root(w, HCA "/fw_ver", "28.45.4028\n");
	root(w, HCA "/node_type", "1: CA\n");
	root(w, HCA "/ports/1/state", "4: ACTIVE\n");
	root(w, HCA "/ports/1/phys_state", "5: LinkUp\n");
	root(w, HCA "/ports/1/link_layer", "Ethernet\n");
	root(w, HCA "/ports/1/rate", "200 Gb/sec (4X HDR)\n");
	root(w, HCA "/ports/1/counters/link_downed", "2\n");
	root(w, HCA "/ports/2/state", "1: DOWN\n");
	root(w, HCA "/ports/2/rate", "1e300 Gb/sec (4X HDR)\n");
	root(w, HCA "/ports/x/state", "4: ACTIVE\n");
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), HCA "/ports/1/gids/%d", i);
		root(w, name,
		     i == 3 || i == 30 ? "0000:0000:0000:0000:0000:ffff:0a01:0203\n" : zero);
	}
	root(w, HCA "/ports/1/gid_attrs/types/3", "RoCE v2\n");
	root(w, HCA "/ports/1/gid_attrs/ndevs/3", "eth1\n");
	root(w, HCA "/ports/1/gid_attrs/ndevs/0", "eth1\n");
	root(w, "/sys/module/mlx5_core/version", "24.10-1.1.4\n");
	world_open(w);
	probe_rdma(&w->probe);

	assert_int_equal(w->machine.net.rdma.n, 2);
	p = w->machine.net.rdma.items;
	assert_string_equal(p[1].name, "mlx5_0/2");
	assert_int_equal(p[1].rate_mbps.f.seen, SEEN_ERROR);
	assert_string_equal(p->name, "mlx5_0/1");
	assert_string_equal(p->pci, "0000:01:00.0");
	assert_string_equal(p->state.v, "ACTIVE");
	assert_string_equal(p->node_type.v, "CA");
	assert_int_equal(p->rate_mbps.v, 200000);
	assert_int_equal(p->link_downed.v, 2);
	assert_string_equal(p->netdev.v, "eth1");
	/* Number 30 lies behind more empty places than anybody leaves. */
	assert_int_equal(p->gids.n, 1);
	assert_int_equal(((struct rdma_gid *)p->gids.items)->index, 3);
	assert_string_equal(((struct rdma_gid *)p->gids.items)->type.v, "RoCE v2");
	assert_string_equal(w->machine.net.ofed_version.v, "24.10-1.1.4");
	assert_string_equal(w->machine.net.mlx5_core.v, "loaded");
	assert_int_equal(w->machine.net.peermem.f.seen, SEEN_ABSENT);
}

#define USB "/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1"
#define USB_DISK USB "/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sda"
#define SUBSYSTEM "/sys/devices/virtual/nvme-subsystem/nvme-subsys0"
#define REMOTE "/sys/devices/virtual/nvme-subsystem/nvme-subsys1"
#define CONTROL "/sys/devices/virtual/nvme-fabrics/ctl/nvme"

static void test_disks(void **state)
{
	struct world *w = *state;
	const struct disk *d;

	root_link(w, "/sys/block/sda",
		  "../devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/"
		  "block/sda");
	root(w, USB_DISK "/size", "2048\n");
	root(w, USB_DISK "/dev", "8:0\n");
	root(w, USB_DISK "/sda1/dev", "8:1\n");
	root(w, USB_DISK "/sda2/dev", "8:2\n");
	root(w, USB_DISK "/queue/scheduler", "none [mq-deadline] bfq\n");
	root(w, USB_DISK "/queue/nr_requests", "2\n");
	root(w, USB_DISK "/holders/dm-0", "");
	root_link(w, USB "/2-1:1.0/driver", "../../../../../../bus/usb/drivers/uas");
	root(w, USB "/speed", "10000\n");
	root(w, "/run/udev/data/b8:1", "S:disk/by-id/x\nE:ID_FS_TYPE=vfat\n");
	root(w, "/run/udev/data/b8:2", "E:ID_FS_TYPE=ext4\nE:NOT_ID_FS_TYPE=btrfs\n");
	/* Behind multipath the disk hangs from no function; its controllers do. */
	root_link(w, "/sys/block/nvme0n1",
		  "../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1");
	root(w, SUBSYSTEM "/nvme0n1/size", "1000\n");
	root_link(w, SUBSYSTEM "/nvme0n1/device", "..");
	root_link(w, SUBSYSTEM "/nvme3",
		  "../../../pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme3");
	root_link(w, "/sys/class/nvme/nvme3",
		  "../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme3");
	root(w, PORT "/nvme/nvme3/model", "X\n");
	root(w, PORT "/nvme/nvme3/sqsize", "1023\n");
	root_link(w, "/sys/block/nvme0c3n1",
		  "../devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme3/nvme0c3n1");
	root(w, PORT "/nvme/nvme3/nvme0c3n1/size", "1000\n");
	/* The same of a disk in another machine. */
	root_link(w, "/sys/block/nvme1n1",
		  "../devices/virtual/nvme-subsystem/nvme-subsys1/nvme1n1");
	root(w, REMOTE "/nvme1n1/size", "1000\n");
	root(w, REMOTE "/model", "Linux\n");
	root_link(w, REMOTE "/nvme1n1/device", "..");
	root_link(w, REMOTE "/nvme4", "../../nvme-fabrics/ctl/nvme4");
	root_link(w, "/sys/class/nvme/nvme4", "../../devices/virtual/nvme-fabrics/ctl/nvme4");
	root(w, CONTROL "4/sqsize", "127\n");
	root(w, CONTROL "4/transport", "rdma\n");
	root(w, CONTROL "4/queue_count", "9\n");
	root(w, CONTROL "4/state", "live\n");
	root(w, CONTROL "4/ctrl_loss_tmo", "off\n");
	root_link(w, REMOTE "/nvme5", "../../nvme-fabrics/ctl/nvme5");
	root(w, CONTROL "5/transport", "rdma\n");
	root(w, CONTROL "5/queue_count", "3\n");
	root(w, CONTROL "5/state", "connecting\n");
	root(w, REMOTE "/iopolicy", "numa\n");
	/* Without multipath it is below its controller. */
	root_link(w, "/sys/block/nvme6n1", "../devices/virtual/nvme-fabrics/ctl/nvme6/nvme6n1");
	root(w, CONTROL "6/nvme6n1/size", "1000\n");
	root_link(w, CONTROL "6/nvme6n1/device", "..");
	root(w, CONTROL "6/queue_count", "5\n");
	root(w, CONTROL "6/state", "live\n");
	root_link(w, "/sys/block/loop0", "../devices/virtual/block/loop0");
	root(w, "/sys/devices/virtual/block/loop0/size", "0\n");
	root_link(w, "/sys/block/zram0", "../devices/virtual/block/zram0");
	root(w, "/sys/devices/virtual/block/zram0/size", "9223372036854775807\n");
	world_open(w);
	probe_disk(&w->probe);

	assert_int_equal(w->machine.storage.disks.n, 5);
	d = machine_disk(&w->machine, "sda");
	assert_string_equal(d->transport.v, "usb-uas");
	assert_int_equal(d->usb_speed_mbps.v, 10000);
	assert_string_equal(d->pci, "0000:00:14.0");
	assert_int_equal(d->size_bytes.v, 2048 * 512);
	assert_string_equal(d->scheduler.v, "mq-deadline");
	assert_string_equal(d->schedulers.v, "none mq-deadline bfq");
	assert_string_equal(d->content.v, "vfat ext4");
	assert_string_equal(d->holders.v, "dm-0");
	d = machine_disk(&w->machine, "nvme0n1");
	assert_string_equal(d->transport.v, "nvme");
	assert_string_equal(d->pci, "0000:01:00.0");
	assert_int_equal(d->queue_depth.v, 1023);
	d = machine_disk(&w->machine, "nvme1n1");
	assert_string_equal(d->transport.v, "nvme-of");
	assert_string_equal(d->pci, "");
	assert_string_equal(d->model.v, "Linux");
	assert_int_equal(d->queue_depth.v, 127);
	assert_int_equal(d->paths.v, 2);
	assert_int_equal(d->live_paths.v, 1);
	assert_int_equal(d->io_queues.v, 2);
	assert_string_equal(d->fabric.v, "rdma");
	d = machine_disk(&w->machine, "nvme6n1");
	assert_int_equal(d->paths.v, 1);
	assert_int_equal(d->live_paths.v, 1);
	assert_int_equal(d->io_queues.v, 4);
	d = machine_disk(&w->machine, "zram0");
	assert_string_equal(d->role.v, "zram");
	assert_string_equal(d->transport.v, "virtual");
	assert_true(d->size_bytes.v >= 0);
}

static const struct mount *mount_at(const struct world *w, const char *name)
{
	LIST_FOR_EACH (struct mount, m, &w->machine.storage.mounts)
		if (strcmp(m->name, name) == 0)
			return m;
	return NULL;
}

static void test_mounts(void **state)
{
	struct world *w = *state;
	const struct mount *m;

	root(w, "/proc/self/mountinfo",
	     "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro\n"
	     "23 22 0:21 / /proc rw - proc proc rw\n"
	     "24 22 0:22 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=1024k\n"
	     "25 22 0:23 / /run rw,nosuid - tmpfs tmpfs rw\n"
	     "26 22 8:1 / /mnt/my\\040disk\\134\\999\\04 ro,noatime master:2 - xfs /dev/sda1 rw\n"
	     "27 22 0:40 / /data rw - nfs4 server:/x rw,vers=4.2\n"
	     "28 22 0:41 / /dev/hugepages rw - hugetlbfs hugetlbfs rw,pagesize=1024M\n"
	     "29 22 0:42 / /s rw - fuse.sshfs me@there:/ rw\n"
	     "30 22 0:43 / /c rw - fusectl fusectl rw\n"
	     "31 22 short\n");
	box_file(&w->box, "c/api/statfs.json",
		 "{\"/\": {\"total_bytes\": 1000, \"avail_bytes\": 10}, \"/data\": "
		 "{\"total_bytes\": 5}}");
	world_open(w);
	probe_fs(&w->probe);

	assert_int_equal(w->machine.storage.mounts.n, 6);
	m = mount_at(w, "/");
	assert_string_equal(m->options.v, "rw,relatime,errors=remount-ro");
	assert_int_equal(m->size_bytes.v, 1000);
	assert_int_equal(m->free_bytes.v, 10);
	assert_non_null(mount_at(w, "/dev/shm"));
	assert_null(mount_at(w, "/run"));
	m = mount_at(w, "/mnt/my disk\\\\999\\04");
	assert_non_null(m);
	assert_string_equal(m->options.v, "ro,noatime,rw");
	m = mount_at(w, "/data");
	assert_int_equal(m->size_bytes.f.seen, SEEN_UNASKED); /* its server may be gone */
	assert_string_equal(mount_at(w, "/dev/hugepages")->options.v, "rw,pagesize=1024M");
	assert_non_null(mount_at(w, "/s"));
}

static void test_zfs(void **state)
{
	struct world *w = *state;
	const struct zpool *z;

	for (int i = 0; i < 2; i++) {
		char at[512];

		snprintf(at, sizeof(at), "/sys/block/sd%c/size", 'a' + i);
		root(w, at, "4096\n");
		snprintf(at, sizeof(at), "/sys/block/sd%c/dev", 'a' + i);
		root(w, at, i ? "8:16\n" : "8:0\n");
	}
	root(w, "/run/udev/data/b8:0", "E:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL=tank\n");
	root(w, "/run/udev/data/b8:16", "E:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL=tank2\n");
	root(w, "/sys/module/zfs/version", "2.1.11-1\n");
	root(w, "/sys/module/zfs/parameters/zfs_arc_max", "0\n");
	root(w, "/proc/spl/kstat/zfs/arcstats",
	     "13 1 0x01 96 26112 1 2\nname type data\nsize 4 4096\nc_max                           "
	     "4    67108864000\n");
	root(w, "/proc/spl/kstat/zfs/tank/state", "ONLINE\n");
	root(w, "/proc/spl/kstat/zfs/tank2/state", "DEGRADED\n");
	box_file(&w->box, "c/api/zpool.json",
		 "{\"tank\": {\"autotrim\": \"off\"}, \"tank2\": {\"autotrim\": \"on\"}}");
	world_open(w);
	probe_disk(&w->probe);
	probe_fs(&w->probe);

	assert_int_equal(w->machine.storage.zfs_arc_size.v, 4096);
	assert_int_equal(w->machine.storage.zfs_arc_c_max.v, 67108864000);
	assert_int_equal(w->machine.storage.pools.n, 2);
	z = w->machine.storage.pools.items;
	assert_string_equal(z[0].name, "tank");
	assert_string_equal(z[0].autotrim.v, "off");
	assert_string_equal(z[0].members.v, "sda");
	assert_string_equal(z[1].state.v, "DEGRADED");
	assert_string_equal(z[1].autotrim.v, "on");
	assert_string_equal(z[1].members.v, "sdb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_interfaces, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_rdma, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_disks, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_mounts, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_zfs, world_setup, world_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
