#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is inside a package of ours, as SPDX 2.3 JSON: itself by digest, the libraries that it is linked to or contains, the
compiler. sbom.py FILE VERSION ARCHITECTURE COMPILER [--static]. Times are those of SOURCE_DATE_EPOCH: two builds, same bytes."""

import datetime
import hashlib
import json
import os
import subprocess
import sys

LIBRARIES = ("libjansson-dev", "libsmartcols-dev", "libinih-dev", "zlib1g-dev", "libzstd-dev", "libc6-dev")


def dpkg(name, arch):
    """Version and source of an installed package; a cross build's libraries are of its own architecture."""
    for wanted in (f"{name}:{arch}", name):
        told = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\t${source:Package}\t${Homepage}", wanted], capture_output=True,
                              text=True, check=False)
        if told.returncode == 0:
            return told.stdout.split("\t")
    raise SystemExit(f"sbom: {name} is not installed")


def package(ident, name, version, homepage=""):
    return {"SPDXID": f"SPDXRef-{ident}", "name": name, "versionInfo": version, "downloadLocation": homepage or "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION"}


def main():
    path, version, arch, compiler = sys.argv[1:5]
    static = "--static" in sys.argv[5:]
    with open(path, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    own = package("gputune", "gputune", version)
    own |= {"licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "packageFileName": os.path.basename(path),
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}
    packages, relations = [own], [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-gputune")]
    for name in LIBRARIES:
        found, source, homepage = dpkg(name, arch)
        ident = f"lib-{source}"
        packages.append(package(ident, source, found, homepage))
        relations.append(("SPDXRef-gputune", "STATIC_LINK" if static and name != "libc6-dev" else "DYNAMIC_LINK", f"SPDXRef-{ident}"))
    found, _, homepage = dpkg(compiler, arch)
    packages.append(package("compiler", compiler, found, homepage))
    relations.append(("SPDXRef-compiler", "BUILD_TOOL_OF", "SPDXRef-gputune"))
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": os.path.basename(path),
               "documentNamespace": f"https://spdx.org/spdxdocs/gputune-{version}-{digest[:16]}",
               "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: gputune-sbom"]},
               "packages": packages,
               "relationships": [{"spdxElementId": a, "relationshipType": r, "relatedSpdxElement": b} for a, r, b in relations]},
              sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
