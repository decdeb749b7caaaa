#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports in a real browser: makes the pages, gets the driver's two packages as package-lock.json pins them into a
build folder, and runs check.js. Without browser, node or packages it says that it was skipped.

    run.py GPUTUNE [FOLDER]    pages, screenshots and the PDF are left in FOLDER (default build-browser)
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "golden"))
import report_state  # noqa: E402

gputune = os.path.abspath(sys.argv[1])
folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else here.parent.parent / "build-browser").resolve()


def skip(why):
    print(f"skipped: {why}\n0 passed, 0 failed")
    sys.exit(0)


def packages():
    """node_modules as the lock file has them; nothing of theirs is run on installing."""
    lock = hashlib.sha256((here / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / "installed"
    if stamp.exists() and stamp.read_text() == lock:
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(here / name, folder / name)
    try:
        p = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, timeout=180,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        skip("npm did not get the packages within three minutes")
    if p.returncode:
        skip("npm cannot get the packages of tests/browser/package-lock.json here: " + p.stderr.strip()[-300:])
    stamp.write_text(lock)


browser = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
for what, there in (("browser (chromium)", browser), ("node", shutil.which("node")), ("npm", shutil.which("npm"))):
    if not there:
        skip(f"there is no {what} here; scripts/install-deps browser")
folder.mkdir(parents=True, exist_ok=True)
packages()
with tempfile.TemporaryDirectory() as tmp:
    machine, overlay, _ = report_state.full(gputune, tmp)
    hostile = report_state.hostile(gputune, tmp)
    for name, args in (("full", ("--host", machine, "--overlay", overlay)), ("many", report_state.many(64)),
                       ("few", (report_state.root / "tests/machines/dgx-spark", report_state.root / "tests/machines/nothing")),
                       ("hostile", (hostile,))):
        code, _, err = report_state.run(gputune, "report", *args, "--force", "-o", folder / f"{name}.html")
        if code not in (0, 1, 5):
            print(f"FAIL {name}.html: {code} {err}\n0 passed, 1 failed")
            sys.exit(1)
sys.exit(subprocess.run(["node", here / "check.js", browser, folder], timeout=570,
                        env={**os.environ, "NODE_PATH": str(folder / "node_modules")}).returncode)
