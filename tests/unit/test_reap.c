/* SPDX-License-Identifier: Apache-2.0 */
/* Children's ends: of one that ends, one that runs, and one that cannot be taken. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "machine/host/command.h"

static pid_t start(int status)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (status >= 0)
			_exit(status);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void test_reap(void **state)
{
	struct rusage used = { 0 };
	int status = 0;
	pid_t pid = start(7);

	(void)state;
	assert_int_equal(reap_wait(pid, 60000, &status, &used), 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	assert_int_equal(reap_wait(pid, 60000, &status, NULL), -ECHILD);
	pid = start(-1);
	assert_int_equal(reap_wait(pid, 0, &status, NULL), -ETIME);
	assert_int_equal(reap_wait(pid, 20, &status, NULL), -ETIME);
	assert_true(reap_kill(pid, false, &status, NULL));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* What a tracer holds its parent cannot take, however dead it is: as one that a driver holds. */
static void hold(pid_t pid, int says, int let_go)
{
	char c = ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 ? 'y' : 'n';

	if (write(says, &c, 1) != 1 || read(let_go, &c, 1) != 0)
		_exit(1);
	_exit(0);
}

static void test_reap_held(void **state)
{
	int says[2], let_go[2], status = 0;
	pid_t pid = start(-1), holder;
	siginfo_t info;
	char c = 0;

	(void)state;
	assert_int_equal(pipe2(says, O_CLOEXEC), 0);
	assert_int_equal(pipe2(let_go, O_CLOEXEC), 0);
	holder = fork();
	if (holder == 0) {
		close(let_go[1]);
		hold(pid, says[1], let_go[0]);
	}
	assert_int_equal(read(says[0], &c, 1), 1);
	if (c == 'y') {
		assert_false(reap_kill(pid, false, &status, NULL));
		assert_int_equal(reap_wait(pid, 0, &status, NULL), -ETIME);
	} else {
		assert_true(reap_kill(pid, false, &status, NULL));
	}
	close(let_go[1]);
	assert_int_equal(reap_wait(holder, 60000, &status, NULL), 0);
	if (c == 'y') {
		assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
		assert_int_equal(reap_wait(pid, 0, &status, NULL), 0);
	}
	assert_true(WIFSIGNALED(status) || c == 'n');
	for (int i = 0; i < 2; i++)
		close(says[i]);
	close(let_go[0]);
	if (c != 'y')
		skip(); /* none may be traced here */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reap),
		cmocka_unit_test(test_reap_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
