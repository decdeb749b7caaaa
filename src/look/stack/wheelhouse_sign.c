/* SPDX-License-Identifier: Apache-2.0 */
/* ssh-keygen, asked to sign, who signed, and whether it was us. */
#include "look/stack/wheelhouse_sign.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "machine/host/command.h"

#define NAMESPACE "gputune-wheelhouse"

enum { LIMIT_S = 60, SAID_MAX = 16384 };

/* What holds these bytes and has no name; -1. */
static int nameless(const char *bytes, size_t n)
{
	int fd = memfd_create("gputune-signed", MFD_CLOEXEC);

	if (fd >= 0 && fd_write_all(fd, bytes, n)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Runs ssh-keygen with these bytes on its standard input; *said is what it printed, and, unless
 * apart, complained of. Its exit status, or -errno. */
static int keygen(struct arena *a, char *const *argv, const char *bytes, size_t n, bool apart,
		  char **said, struct err *e)
{
	int in = nameless(bytes, n), out = nameless("", 0), status = -EIO;
	struct command_front p = { .argv = argv,
				   .input = arena_printf(a, "/proc/self/fd/%d", in),
				   .output = out,
				   .errors_apart = apart,
				   .limit_s = LIMIT_S };
	ssize_t got = 0;

	*said = arena_alloc(a, SAID_MAX);
	if (in >= 0 && out >= 0)
		status = command_front(&p, e);
	else
		err_set(e, status, "no file in memory");
	if (out >= 0)
		got = pread(out, *said, SAID_MAX - 1, 0);
	(*said)[got > 0 ? got : 0] = '\0';
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return status;
}

static char *signature_of(struct arena *a, const struct wheelhouse *h)
{
	return arena_printf(a, "%s/" WHEELHOUSE_SIGNATURE, h->dir);
}

const char *house_signer(struct arena *a, const struct wheelhouse *h, const char *signers)
{
	char *sig = signature_of(a, h), *allowed = arena_strdup(a, signers), *who, *said;
	char *find[] = { "ssh-keygen", "-Y", "find-principals", "-s", sig, "-f", allowed, NULL };
	struct err e = { 0 };

	if (keygen(a, find, "", 0, false, &who, &e) != 0)
		return NULL;
	who[strcspn(who, "\r\n")] = '\0';
	/* A name that looks like an option would be one. */
	if (*who && *who != '-') {
		char *verify[] = { "ssh-keygen", "-Y", "verify",  "-q", "-f", allowed, "-I",
				   who,		 "-n", NAMESPACE, "-s", sig,  NULL };

		if (keygen(a, verify, h->manifest, h->manifest_len, false, &said, &e) == 0)
			return who;
	}
	return NULL;
}

/* "256 SHA256:... comment (ED25519)", "Good ... signature with ED25519 key SHA256:...": the word
 * with the fingerprint; "": there is none. */
static char *fingerprint(struct arena *a, const char *said)
{
	const char *at = strstr(said, "SHA256:");

	return at ? arena_strndup(a, at, strcspn(at, " \r\n")) : arena_strdup(a, "");
}

int house_signed_by(struct arena *a, const struct wheelhouse *h, const char *key, struct err *e)
{
	char *check[] = { "ssh-keygen", "-Y", "check-novalidate", "-n",
			  NAMESPACE,	"-s", signature_of(a, h), NULL };
	char *print[] = { "ssh-keygen", "-l", "-E", "sha256", "-f", arena_strdup(a, key), NULL };
	char *by, *ours;
	int r = keygen(a, check, h->manifest, h->manifest_len, false, &by, e);

	if (r < 0)
		return r;
	if (r == 0 && keygen(a, print, "", 0, false, &ours, e) == 0 && *fingerprint(a, ours) &&
	    strcmp(fingerprint(a, ours), fingerprint(a, by)) == 0)
		return 0;
	err_set(e, -EKEYREJECTED, "%s is not signed by %s as it is", h->dir, key);
	err_hint(e, "verify it first; whoever trusts it all the same removes " WHEELHOUSE_SIGNATURE
		    " and adds again");
	return -EKEYREJECTED;
}

int house_sign(struct arena *a, const char *text, const char *key, char **signature, struct err *e)
{
	char *argv[] = { "ssh-keygen",	       "-Y", "sign",	"-q", "-f",
			 arena_strdup(a, key), "-n", NAMESPACE, NULL };
	int r = keygen(a, argv, text, strlen(text), true, signature, e);

	if (r < 0)
		return r;
	if (r == 0 && str_starts(*signature, "-----BEGIN SSH SIGNATURE-----"))
		return 0;
	err_set(e, -EPERM, "ssh-keygen does not sign with %s", key);
	err_hint(e, "a key with a passphrase has to be in the agent: give its public half");
	return -EPERM;
}
