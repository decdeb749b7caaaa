#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports in a real browser: makes the pages, gets the driver's two packages as package-lock.json pins them into a
build folder, and runs check.js. Without browser, node or packages it says that it was skipped.

    run.py GPUTUNE [FOLDER]          pages, screenshots and the PDF are left in FOLDER (default build-browser)
    run.py GPUTUNE FOLDER renew      makes the pictures of reference/ anew: look at FOLDER/shot-*.png before they are kept
    run.py GPUTUNE FOLDER PART       one part of check.js
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
import small_png  # noqa: E402

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


def fonts():
    """One family, wherever the pages are drawn: else no picture is like another."""
    config = folder / "fonts.conf"
    config.write_text("""<?xml version="1.0"?>
<fontconfig><dir>/usr/share/fonts/truetype/dejavu</dir><cachedir prefix="xdg">fontconfig</cachedir>
<selectfont><rejectfont><glob>*Serif*</glob></rejectfont><rejectfont><glob>*Math*</glob></rejectfont>
<rejectfont><glob>*Condensed*</glob></rejectfont><rejectfont><glob>*ExtraLight*</glob></rejectfont></selectfont>
""" + "".join(f"""<match target="pattern"><test name="family"><string>{generic}</string></test>
<edit name="family" mode="assign" binding="strong"><string>{family}</string></edit></match>
""" for generic, family in (("monospace", "DejaVu Sans Mono"), ("ui-monospace", "DejaVu Sans Mono"), ("system-ui", "DejaVu Sans"),
                            ("sans-serif", "DejaVu Sans"), ("sans", "DejaVu Sans"), ("Times New Roman", "DejaVu Sans"),
                            ("serif", "DejaVu Sans"))) + "</fontconfig>\n")
    return {**os.environ, "NODE_PATH": str(folder / "node_modules"), "FONTCONFIG_FILE": str(config)}


def page(tmp, name, *args, cwd=report_state.root):
    """Paths in pages are the same wherever the sources lie."""
    p = subprocess.run([gputune, *map(str, args)], capture_output=True, text=True, timeout=300, cwd=cwd, stdin=subprocess.DEVNULL,
                       env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    if p.returncode not in (0, 1, 5) or "</html>" not in p.stdout:
        print(f"FAIL {name}.html: {p.returncode} {p.stderr}\n0 passed, 1 failed")
        sys.exit(1)
    (folder / f"{name}.html").write_text(p.stdout)


def near(path):
    return pathlib.Path(path).relative_to(report_state.root)


with tempfile.TemporaryDirectory() as tmp:
    machine, overlay, _ = report_state.full(gputune, tmp)
    page(tmp, "full", "report", "--host", near(machine), "--overlay", overlay)
    page(tmp, "spark", "report", "--host", "build/machines/dgx-spark")
    page(tmp, "orin", "report", "--host", "build/machines/igx-orin")
    page(tmp, "check", "check", "--host", near(machine), "--format", "html")
    page(tmp, "many", "report", *map(near, report_state.many(64)))
    page(tmp, "few", "report", "build/machines/dgx-spark", "build/machines/nothing")
    page(tmp, "hostile", "report", report_state.hostile(gputune, tmp))
    results = report_state.told(gputune, tmp)
    report_state.recording(tmp)
    page(tmp, "given", "report", "--host", machine, *(f.name for f in results.values()), "job.rec", cwd=tmp)
    subprocess.run([sys.executable, here.parent / "fleet/generate.py", gputune, pathlib.Path(tmp, "fleet"), "60"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, here.parent / "fleet/benches.py", pathlib.Path(tmp, "fleet"), "60"], check=True,
                   stdout=subprocess.DEVNULL)
    page(tmp, "fleet", "fleet", "fleet", "--format", "html", cwd=tmp)
code = subprocess.run(["node", here / "check.js", browser, folder, *sys.argv[3:]], timeout=900, env=fonts()).returncode
for picture in (here / "reference").glob("*.png") if sys.argv[3:] == ["renew"] else ():
    small_png.shrink(picture)
sys.exit(code)
