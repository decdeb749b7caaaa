/* SPDX-License-Identifier: Apache-2.0 */
/* A library that has none of the functions that its name promises. */
int stub_hollow_marker(void);

int stub_hollow_marker(void)
{
	return 1;
}
