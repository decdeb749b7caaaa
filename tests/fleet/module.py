#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program as an Ansible module, without Ansible: one JSON object whatever the arguments are, and the truth in it."""
import json
import os
import pathlib
import subprocess

OWN = {"_ansible_check_mode": True, "_ansible_diff": True, "_ansible_version": "2.19.0", "_ansible_verbosity": 0,
       "_ansible_module_name": "gputune"}


def call(gputune, work, args, raw=False, env=None):
    path = pathlib.Path(work) / "args"
    path.write_bytes(args if raw else json.dumps({**OWN, **args}).encode())
    done = subprocess.run([str(gputune), str(path)], capture_output=True, text=True, timeout=60, env=env)
    lines = done.stdout.splitlines()
    said = json.loads(lines[0]) if len(lines) == 1 else None
    return done, said


def fails(t, gputune, work, what, args, *words, raw=False):
    done, said = call(gputune, work, args, raw)
    t(f"module: {what}", said and said["failed"] and said["rc"] and not said["changed"] and done.returncode == 1 and
      not done.stderr and all(w in said["msg"] for w in words), (done, said))


def test(t, gputune, arm, work):
    for what, args, *words in (
            ("an unknown argument", {"onyl": "x"}, '"onyl"'), ("a wrong state", {"state": "present"}, "state takes"),
            ("a state of the wrong type", {"state": ["apply"]}, "state takes"),
            ("a wrong flag", {"state": "undo", "all": "perhaps"}, "all takes true or false"),
            ("a wrong list", {"only": [1]}, '"only"'), ("a list that hides one", {"only": ["a,b"]}, "only"),
            ("an empty list", {"only": []}, "only"), ("an empty word", {"only": [""]}, "only"),
            ("a template of nothing", {"only": " , "}, "only: no ids in"), ("an undo of nothing", {"state": "undo", "only": []}, "only"),
            ("a list that is skipped", {"state": "check", "only": ["nic"], "skip": ["nic"]}, "no setting is selected: the profile only has "),
            ("a wrong number", {"state": "undo", "transaction": 0}, "TRANSACTION"),
            ("a text of the wrong type", {"profile": {}}, '"profile" is a text'),
            ("an argument that means nothing there", {"state": "status", "only": ["cpu"]}, "nothing with state=status"),
            ("both all and one", {"state": "undo", "all": True, "transaction": 3}, "either"),
            ("a wrong id", {"only": ["no.such"]}, "no.such"), ("a wrong profile", {"profile": "fast"}, "fast"),
            ("a word like an option", {"only": ["--yes"]}, "--yes"), ("a long text", {"profile": "x" * 5000}, "profile"),
            ("gputune_info that shall change", {"state": "apply", "_ansible_module_name": "gputune_info"}, "changes nothing"),
            ("a check mode that is no flag", {"_ansible_check_mode": "maybe"}, "_ansible_check_mode")):
        fails(t, gputune, work, what, args, *words)
    for what, raw in (("no JSON", b"{"), ("another JSON", b"[]"), ("bytes", b"\xff\xfe\0"), ("nothing", b""),
                      ("doubled keys", b'{"state":"status","state":"apply","_ansible_diff":true}'),
                      ("no file of Ansible's", b'{"state":"status"}'), ("a large file", b"{" + b" " * (2 << 20) + b"}"),
                      ("a deep file", b'{"_ansible_x":' + b"[" * 100000)):
        fails(t, gputune, work, what, raw, raw=True)
    done = subprocess.run([str(gputune), "/no/such/args"], capture_output=True, text=True, timeout=30)
    t("module: a file that is not there", json.loads(done.stdout)["failed"] and "No such file" in done.stdout, done)
    truths(t, gputune, work)


def truths(t, gputune, work):
    wish = {"profile": "published", "only": "net.tcp-fastopen"}
    before = os.path.exists("/var/lib/gputune")
    done, said = call(gputune, work, wish)
    plan = subprocess.run([str(gputune), "plan", "--profile", "published", "--only", "net.tcp-fastopen", "--format",
                           "json"], capture_output=True, text=True, timeout=60)
    n = json.loads(plan.stdout)["summary"]["now"]
    t("module: check mode says what plan says", not said["failed"] and said["changed"] == (n > 0) and
      len(said["diff"]["after"].splitlines()) == n, said)
    t("module: check mode made no journal", os.path.exists("/var/lib/gputune") == before)
    done, said = call(gputune, work, {**wish, "state": "check", "_ansible_module_name": "gputune.gputune.gputune_info"})
    t("module: a finding is no failure", not said["failed"] and not said["changed"] and "rc" not in said and
      said["result"]["schema"] == "gputune.check/1" and said["exit_code"] == (1 if n else 0), said)
    done, said = call(gputune, work, {"_ansible_module_name": "gputune_info"})
    t("module: gputune_info checks without a state", said["state"] == "check", said)
    done, said = call(gputune, work, {"state": "undo", "all": "yes"})
    t("module: nothing to undo changes nothing", not said["changed"], said)
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(gputune), str(pathlib.Path(work) / "args")], stdout=full, timeout=60)
    t("module: an answer that is lost is a failure", done.returncode == 1, done)
