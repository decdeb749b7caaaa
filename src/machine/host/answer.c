/* SPDX-License-Identifier: Apache-2.0 */
/* Making answers: apart from the live host, so that a provider can be linked alone. */
#include "machine/host/ask.h"

void answer_int(struct answer *out, long long v)
{
	*out = (struct answer){ .kind = ANSWER_INT, .i = v };
}

void answer_text(struct answer *out, const char *text)
{
	*out = (struct answer){ .kind = ANSWER_TEXT, .text = text };
}
