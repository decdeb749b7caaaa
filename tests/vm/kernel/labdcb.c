// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * labdcb: two network interfaces, labdcb0 and labdcb1, of the first ConnectX functions of labpci,
 * whose hardware is a few variables: PFC for eight priorities, and a table of DSCP. What stands
 * above (net/dcb, rtnetlink, dcb(8)) is the kernel's own. The parameter firmware says that firmware
 * negotiates (DCBX), refuse that a change of PFC is answered with EBUSY. It knows nothing of
 * gputune.
 */
#include <linux/dcbnl.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <net/dcbnl.h>

struct lab_nic {
	struct ieee_pfc pfc;
};

static struct net_device *nics[2];
static bool firmware, refuse;
module_param(firmware, bool, 0644);
MODULE_PARM_DESC(firmware, "DCBX is the firmware's");
module_param(refuse, bool, 0644);
MODULE_PARM_DESC(refuse, "a change of PFC is refused");

static int get_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	*pfc = ((struct lab_nic *)netdev_priv(dev))->pfc;
	return 0;
}

static int set_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct lab_nic *n = netdev_priv(dev);

	if (refuse)
		return -EBUSY;
	n->pfc.pfc_en = pfc->pfc_en;
	n->pfc.mbc = pfc->mbc;
	n->pfc.delay = pfc->delay;
	return 0;
}

static u8 get_dcbx(struct net_device *dev)
{
	return DCB_CAP_DCBX_VER_IEEE | (firmware ? DCB_CAP_DCBX_LLD_MANAGED : DCB_CAP_DCBX_HOST);
}

static const struct dcbnl_rtnl_ops dcb_ops = {
	.ieee_getpfc = get_pfc,
	.ieee_setpfc = set_pfc,
	.ieee_setapp = dcb_ieee_setapp,
	.ieee_delapp = dcb_ieee_delapp,
	.getdcbx = get_dcbx,
};

static netdev_tx_t transmit(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static int link_settings(struct net_device *dev, struct ethtool_link_ksettings *s)
{
	s->base.speed = SPEED_100000;
	s->base.duplex = DUPLEX_FULL;
	return 0;
}

static const struct ethtool_ops tool_ops = {
	.get_link_ksettings = link_settings,
};

static const struct net_device_ops net_ops = {
	.ndo_start_xmit = transmit,
	.ndo_set_mac_address = eth_mac_addr,
};

static void setup(struct net_device *dev)
{
	struct lab_nic *n = netdev_priv(dev);

	ether_setup(dev);
	eth_hw_addr_random(dev);
	dev->netdev_ops = &net_ops;
	dev->dcbnl_ops = &dcb_ops;
	dev->ethtool_ops = &tool_ops;
	n->pfc.pfc_cap = 8;
	/* What a change of the priorities has to leave as it is. */
	n->pfc.delay = 7;
	n->pfc.mbc = 1;
}

static void lab_exit(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (!nics[i])
			continue;
		unregister_netdev(nics[i]);
		free_netdev(nics[i]);
		nics[i] = NULL;
	}
}

static int __init lab_init(void)
{
	struct pci_dev *function = NULL;
	int i, r;

	for (i = 0; i < 2; i++) {
		struct net_device *dev =
			alloc_netdev(sizeof(struct lab_nic), "labdcb%d", NET_NAME_USER, setup);

		function = pci_get_device(PCI_VENDOR_ID_MELLANOX, 0x1021, function);
		if (dev && function)
			SET_NETDEV_DEV(dev, &function->dev);
		r = dev ? register_netdev(dev) : -ENOMEM;
		if (r) {
			if (dev)
				free_netdev(dev);
			pci_dev_put(function);
			lab_exit();
			return r;
		}
		nics[i] = dev;
	}
	pci_dev_put(function);
	return 0;
}

module_init(lab_init);
module_exit(lab_exit);
MODULE_DESCRIPTION("network interfaces with data center bridging, in memory");
MODULE_LICENSE("GPL");
