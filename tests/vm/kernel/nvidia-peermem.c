// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* A module of this name that does nothing: loaded or not is all that is looked at. */
#include <linux/module.h>

static int __init stand_in_init(void)
{
	return 0;
}

static void __exit stand_in_exit(void)
{
}

module_init(stand_in_init);
module_exit(stand_in_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("535.183.06");
MODULE_DESCRIPTION("stand-in of the lab");
