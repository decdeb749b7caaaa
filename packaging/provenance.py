#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where a release comes from, as an in-toto statement with a SLSA 1.0 predicate: provenance.py SHA256SUMS. Subjects are its files; the
source is the commit that is checked out (none in a source archive), and whether files differ from it."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def main():
    rows = [line.split("  ", 1) for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
    own = git("rev-parse", "--show-toplevel") == str(ROOT)
    commit = git("rev-parse", "HEAD") if own else None
    release = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    source = {"uri": "git+https://gputune.invalid/gputune", **({"digest": {"gitCommit": commit}} if commit else {})}
    json.dump({"_type": "https://in-toto.io/Statement/v1",
               "subject": [{"name": name, "digest": {"sha256": digest}} for digest, name in rows],
               "predicateType": "https://slsa.dev/provenance/v1",
               "predicate": {"buildDefinition": {"buildType": "https://gputune.invalid/scripts/release",
                                                 "externalParameters": {"source": source["uri"]},
                                                 "internalParameters": {"changed_files": bool(git("status", "--porcelain", "-uno")) if own else None,
                                                                        "system": release.get("PRETTY_NAME", "").strip('"')},
                                                 "resolvedDependencies": [source]},
                             "runDetails": {"builder": {"id": os.environ.get("GPUTUNE_BUILDER", "https://gputune.invalid/builders/local")}}}},
              sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
