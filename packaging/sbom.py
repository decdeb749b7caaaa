#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is inside a package of ours, as SPDX 2.3 JSON: itself by digest, the libraries that it is linked to, opens or contains, the
compiler. sbom.py FILE NAME VERSION ARCHITECTURE COMPILER [--static [LIBRARY...]]. A Debian package says itself what it needs;
what a tarball holds is what debian/control builds with: linked in, or beside the program as the files that are named. Times are those of SOURCE_DATE_EPOCH: two builds, same bytes."""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

CONTROL = pathlib.Path(__file__).resolve().parent.parent / "debian/control"
# The C library comes with the compiler; cmocka is for tests alone.
BESIDES, ONLY_TESTS = ["libc6-dev"], {"libcmocka-dev"}
LICENCES = {"jansson": "MIT", "libinih": "BSD-3-Clause", "inih": "BSD-3-Clause", "zlib": "Zlib", "libzstd": "BSD-3-Clause OR GPL-2.0-only",
            "util-linux": "LGPL-2.1-or-later", "glibc": "LGPL-2.1-or-later", "libyaml": "MIT", "libmnl": "LGPL-2.1-or-later",
            "libsodium": "ISC", "liburing": "LGPL-2.1-only OR MIT"}
# Where a package is not called as its library.
FILES = {"zlib1g-dev": "libz", "libyaml-dev": "libyaml-0"}


def libraries():
    """Development packages of the libraries that the build links to."""
    needs = re.search(r"^Build-Depends:((?:.*\n)(?: .*\n)*)", CONTROL.read_text(), re.M).group(1)
    found = [re.split(r"[ (<:]", word.strip())[0] for word in needs.replace("\n", " ").split(",")]
    return [name for name in found if name.endswith("-dev") and name not in ONLY_TESTS] + BESIDES


def depends(path):
    """Packages that a Debian package needs, but those of our own."""
    said = subprocess.run(["dpkg-deb", "-f", path, "Depends"], capture_output=True, text=True, check=True).stdout
    names = [re.split(r"[ (:]", word.strip())[0] for word in said.split(",") if word.strip()]
    return [name for name in names if not name.startswith("libgputune")]


def dpkg(name, arch):
    """Version, source and home page of an installed package; a cross build's libraries are of its own architecture."""
    for wanted in (f"{name}:{arch}", name):
        told = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\t${source:Package}\t${Homepage}", wanted], capture_output=True,
                              text=True, check=False)
        if told.returncode == 0:
            return told.stdout.split("\t")
    raise SystemExit(f"sbom: {name} is not installed")


def package(ident, name, version, homepage="", licence="NOASSERTION"):
    return {"SPDXID": f"SPDXRef-{ident}", "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            **({"homepage": homepage} if homepage else {})}


def main():
    path, name, version, arch, compiler = sys.argv[1:6]
    static, beside = "--static" in sys.argv[6:], [os.path.basename(f).split(".so")[0] for f in sys.argv[7:]]
    with open(path, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    own = package("package", name, version, licence="Apache-2.0")
    own |= {"licenseConcluded": "Apache-2.0", "copyrightText": "2026 gputune maintainers", "packageFileName": os.path.basename(path),
            "supplier": "Organization: gputune maintainers", "primaryPackagePurpose": "LIBRARY" if name.startswith("lib") else "APPLICATION",
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}
    packages, relations = [own], [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-package")]
    for library in libraries() if static else depends(path):
        found, source, homepage = dpkg(library, arch)
        ident = "lib-" + re.sub(r"[^A-Za-z0-9.-]", "-", source)
        packages.append(package(ident, source, found, homepage, LICENCES.get(source, "NOASSERTION")))
        inside = static and library != "libc6-dev"
        shared = not inside or FILES.get(library, library.removesuffix("-dev")) in beside
        relations.append(("SPDXRef-package", "DYNAMIC_LINK" if shared else "STATIC_LINK", f"SPDXRef-{ident}"))
        if inside and shared:
            relations.append(("SPDXRef-package", "CONTAINS", f"SPDXRef-{ident}"))
    found, source, homepage = dpkg(compiler, arch)
    packages.append(package("compiler", compiler, found, homepage))
    relations.append(("SPDXRef-compiler", "BUILD_TOOL_OF", "SPDXRef-package"))
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": os.path.basename(path),
               "documentNamespace": f"https://gputune.invalid/spdx/{name}-{version}-{arch}-{digest[:16]}",
               "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: gputune-sbom"]},
               "packages": packages,
               "relationships": [{"spdxElementId": a, "relationshipType": r, "relatedSpdxElement": b} for a, r, b in relations]},
              sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
