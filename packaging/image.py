#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tarball's files as an OCI image: image.py FILES VERSION ARCHITECTURE OUT LIBC LIBM LOADER. One layer on nothing: the program
below /opt/gputune, the C library and its loader. OUT is a tar of an OCI layout (podman load, skopeo copy oci-archive:OUT). Times are
those of SOURCE_DATE_EPOCH, names are sorted: two builds, same bytes."""
import gzip
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile
import datetime

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
LEFT_OUT = ("share/man", "share/bash-completion", "share/zsh", "share/fish", "install.sh", "lib/systemd")


def entry(name, mode, kind=tarfile.REGTYPE, size=0, link=""):
    t = tarfile.TarInfo(name)
    t.mode, t.type, t.size, t.linkname, t.mtime = mode, kind, size, link, EPOCH
    return t


def pack(files):
    """A tar of name -> (mode, bytes), with the folders above them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        folders = {str(p) for name in files for p in pathlib.PurePosixPath(name).parents if str(p) != "."}
        for name in sorted(folders | set(files)):
            if name in folders:
                tar.addfile(entry(name, 0o1777 if name == "tmp" else 0o755, tarfile.DIRTYPE))
            else:
                mode, data = files[name]
                tar.addfile(entry(name, mode, size=len(data)), io.BytesIO(data))
    return out.getvalue()


def main():
    root, version, arch, out, *libc = sys.argv[1:]
    root = pathlib.Path(root)
    files = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_file() and not name.startswith(LEFT_OUT):
            files["opt/gputune/" + name] = (path.stat().st_mode & 0o755 | 0o444, path.read_bytes())
    # The loader stands where the program names it; it looks for the others in its own folder and in /lib64.
    for path in libc:
        where = "lib64" if arch == "amd64" else "lib"
        name = os.path.basename(path)
        files[f"{where}/{name}"] = (0o755, pathlib.Path(os.path.realpath(path)).read_bytes())
    files["etc/passwd"] = (0o644, b"root:x:0:0:root:/:/\ngputune:x:65532:65532::/tmp:/\n")
    files["tmp/.keep"] = (0o644, b"")
    layer = pack(files)
    packed = gzip.compress(layer, 9, mtime=0)
    blobs = {}

    def blob(data):
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = (0o644, data)
        return {"digest": f"sha256:{digest}", "size": len(data)}

    made = datetime.datetime.fromtimestamp(EPOCH, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = {"created": made, "architecture": arch, "os": "linux",
              "config": {"Entrypoint": ["/opt/gputune/bin/gputune"], "Env": ["PATH=/opt/gputune/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
                         "Labels": {"org.opencontainers.image.title": "gputune", "org.opencontainers.image.version": version,
                                    "org.opencontainers.image.licenses": "Apache-2.0"}},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
              "history": [{"created": made, "created_by": "packaging/image.py"}]}
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **blob(json.dumps(config, sort_keys=True).encode())},
                "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **blob(packed)}]}
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
             "manifests": [{"mediaType": manifest["mediaType"], **blob(json.dumps(manifest, sort_keys=True).encode()),
                            "platform": {"architecture": arch, "os": "linux"},
                            "annotations": {"org.opencontainers.image.ref.name": f"gputune:{version}"}}]}
    blobs["index.json"] = (0o644, json.dumps(index, sort_keys=True).encode())
    blobs["oci-layout"] = (0o644, b'{"imageLayoutVersion": "1.0.0"}')
    data = pack(blobs)
    pathlib.Path(out).write_bytes(data)
    print(f"{os.path.basename(out)}: {len(data) / 1e6:.1f} MB")
    if len(data) >= 15_000_000:
        sys.exit("image: 15 MB or more")


if __name__ == "__main__":
    main()
