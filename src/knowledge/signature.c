/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of minisign and signify. */
#include "knowledge/signature.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "machine/host/libraries.h"

/* The letters before a key or signature say how it was made; both programs count the same. */
struct public_key {
	unsigned char how[2], number[8], key[crypto_sign_PUBLICKEYBYTES];
};

struct made_signature {
	unsigned char how[2], number[8], bytes[crypto_sign_BYTES];
};

/* The next line of *at without its end; false: none is left. */
static bool next_line(const char **at, const char **line, size_t *len)
{
	size_t n = strcspn(*at, "\n");

	if (!**at)
		return false;
	*line = *at;
	*len = n && (*at)[n - 1] == '\r' ? n - 1 : n;
	*at += n + ((*at)[n] == '\n');
	return true;
}

/* A line of exactly these many bytes in base64. */
static bool next_bytes(const char **at, void *out, size_t want)
{
	const char *line, *end;
	size_t len, n;

	return next_line(at, &line, &len) &&
	       sodium_base642bin(out, want, line, len, NULL, &n, &end,
				 sodium_base64_VARIANT_ORIGINAL) == 0 &&
	       n == want && end == line + len;
}

static bool skip_comment(const char **at)
{
	const char *line;
	size_t len;

	return str_starts(*at, "untrusted comment:") && next_line(at, &line, &len);
}

static const char *number_text(struct arena *a, const unsigned char number[8])
{
	const char *text = "";

	for (int i = 7; i >= 0; i--)
		text = arena_printf(a, "%s%02X", text, number[i]);
	return text;
}

static int key_read(const char *text, struct public_key *out, struct err *e)
{
	skip_comment(&text);
	if (!next_bytes(&text, out, sizeof(*out)) || text[strspn(text, " \r\n")] ||
	    memcmp(out->how, "Ed", 2) != 0)
		return err_set(e, -EINVAL, "not a public key of minisign or signify");
	return 0;
}

/* The bytes themselves, or their BLAKE2b-512 where the letters say so. */
static bool holds(const struct made_signature *s, const struct public_key *key, const void *data,
		  size_t len)
{
	unsigned char sum[crypto_generichash_BYTES_MAX];

	if (memcmp(s->how, "ED", 2) == 0) {
		if (crypto_generichash(sum, sizeof(sum), data, len, NULL, 0))
			return false;
		data = sum;
		len = sizeof(sum);
	}
	return crypto_sign_verify_detached(s->bytes, data, len, key->key) == 0;
}

/* What minisign signs besides: the signature, and a comment behind it. */
static bool comment_holds(struct arena *a, const struct made_signature *s,
			  const struct public_key *key, const char *comment, const char *rest)
{
	unsigned char global[crypto_sign_BYTES];
	size_t n = strlen(comment);
	unsigned char *both = arena_alloc(a, sizeof(s->bytes) + n);

	memcpy(both, s->bytes, sizeof(s->bytes));
	memcpy(both + sizeof(s->bytes), comment, n);
	return next_bytes(&rest, global, sizeof(global)) && !rest[strspn(rest, "\r\n")] &&
	       crypto_sign_verify_detached(global, both, sizeof(s->bytes) + n, key->key) == 0;
}

static int signature_read(struct arena *a, const char **text, struct made_signature *out,
			  const char **comment, struct err *e)
{
	static const char trusted[] = "trusted comment: ";
	const char *line;
	size_t len;

	*comment = NULL;
	if (!skip_comment(text) || !next_bytes(text, out, sizeof(*out)) ||
	    (memcmp(out->how, "Ed", 2) != 0 && memcmp(out->how, "ED", 2) != 0))
		return err_set(e, -EINVAL, "not a signature of minisign or signify");
	if (!(*text)[strspn(*text, "\r\n")])
		return 0;
	if (!str_starts(*text, trusted) || !next_line(text, &line, &len))
		return err_set(e, -EINVAL, "the signature has an unknown third line");
	*comment = arena_strndup(a, line + strlen(trusted), len - strlen(trusted));
	return 0;
}

int signature_check(struct arena *a, const void *data, size_t len, const char *signature,
		    const char *key, struct signature *out, struct err *e)
{
	struct public_key k;
	struct made_signature s;
	int code = library_open(LIBRARY_SODIUM, e);

	code = code ? code : key_read(key, &k, e);
	code = code ? code : signature_read(a, &signature, &s, &out->comment, e);
	if (code)
		return code;
	out->key = number_text(a, k.number);
	if (memcmp(s.number, k.number, sizeof(k.number)) != 0)
		return err_set(e, -EPERM, "signed by key %s, not by the trusted key %s",
			       number_text(a, s.number), out->key);
	if (!holds(&s, &k, data, len))
		return err_set(e, -EPERM, "the signature does not match the file");
	if (out->comment && !comment_holds(a, &s, &k, out->comment, signature))
		return err_set(e, -EPERM, "the signature does not match its trusted comment");
	return 0;
}
