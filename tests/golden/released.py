#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What results promise: every schema against schemas/released.tsv, the keys and types of the last release. A key that went, holds another type or
is no longer always there needs a new version of its result; new keys need none. --update, at a release, writes the list anew. --schemas FOLDER
takes the schemas of another tree."""
import copy
import json
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent.parent
manifest = root / "schemas/released.tsv"
HEAD = ("# SPDX-License-Identifier: Apache-2.0\n# Keys of results at the last release: result, path, types (?: it may be left out). Made by tests/golden/released.py --update.\n")
JSON_TYPE = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"}


def alternatives(node, defs):
    """The node, or what it can be: without references and choices."""
    if node is True:
        node = {}
    if "$ref" in node:
        yield from alternatives(defs[node["$ref"].rsplit("/", 1)[1]], defs)
        return
    choices = [c for key in ("anyOf", "oneOf", "allOf") for c in node.get(key, [])]
    if not choices or "type" in node or "properties" in node:
        yield node
    for choice in choices:
        # A choice that only says which keys go together is no other value.
        if set(choice) - {"required", "not", "if", "then"} or not choices:
            yield from alternatives(choice, defs)


def types_of(node):
    """What a node without choices says about its type."""
    if "const" in node:
        return {JSON_TYPE[type(node["const"])]}
    if "enum" in node:
        return {JSON_TYPE[type(v)] for v in node["enum"]}
    if "type" in node:
        return {node["type"]} if isinstance(node["type"], str) else set(node["type"])
    return {"object"} if "properties" in node else {"array"} if "items" in node else {"any"}


def keys_of(nodes):
    """The keys of objects: what stands there, and whether it always does."""
    objects = [n for n in nodes if "object" in types_of(n) and "const" not in n]
    keys = {}
    for n in objects:
        for key, below in n.get("properties", {}).items():
            keys.setdefault(key, []).append(below)
        for below in [n.get("additionalProperties"), *n.get("patternProperties", {}).values()]:
            if isinstance(below, dict):
                keys.setdefault("*", []).append(below)
    return {key: (below, key != "*" and all(key in n.get("required", []) for n in objects)) for key, below in keys.items()}


def walk(nodes, defs, path, always, above, rows):
    """Adds the row of a place and of all places below it."""
    flat = [a for n in nodes for a in alternatives(n, defs)]
    if path:
        rows[path] = (frozenset().union(*map(types_of, flat)), always)
    if flat and all(id(n) in above for n in flat):
        return
    above = above | {id(n) for n in flat}
    for key, (below, there) in keys_of(flat).items():
        walk(below, defs, f"{path}.{key}" if path else key, there, above, rows)
    items = [n["items"] for n in flat if isinstance(n.get("items"), dict)]
    if items:
        walk(items, defs, path + "[]", True, above, rows)


def rows_of(name, schema):
    """Its result, and the types of each path."""
    rows = {}
    walk([schema], schema.get("$defs", {}), "", True, frozenset(), rows)
    if "time" in rows:  # of the head: a clock that shows no time gives null, which not every schema by hand has said
        rows["time"] = (rows["time"][0] | {"null"}, rows["time"][1])
    head = next(alternatives(schema, schema.get("$defs", {})))
    return head.get("properties", {}).get("schema", {}).get("const", f"gputune.{name}/1"), rows


def schemas_in(*folders):
    return {p.stem: json.loads(p.read_text()) for folder in folders for p in sorted(pathlib.Path(folder).glob("*.json"))}


def text_of(types, always):
    return "|".join(sorted(types)) + ("" if always else "?")


def read_manifest():
    results = {}
    for line in manifest.read_text().splitlines():
        if not line.startswith("#"):
            result, path, types = line.split("\t")
            results.setdefault(result, {})[path] = (frozenset(types.removesuffix("?").split("|")), not types.endswith("?"))
    return results


def broken(released, now):
    """Sentences about what a script that reads the released results would miss."""
    for result, paths in released.items():
        name, version = result.rsplit("/", 1)
        if result not in now:
            if not any(r.rsplit("/", 1)[0] == name and int(r.rsplit("/", 1)[1]) > int(version) for r in now):
                yield f"{result}: it is there no more"
            continue
        gone = []
        for path, (types, always) in paths.items():
            above = path.rpartition(".")[0]
            if path not in now[result]:
                # Any keys became these; what is below a key that went is said with it.
                if not path.endswith(".*") and ".*." not in path and ".*[" not in path and not any(path.startswith((g + ".", g + "[")) for g in gone):
                    gone.append(path)
                    yield f"{result}: {path} is there no more"
                continue
            new, still = now[result][path]
            more = {t for t in new - types if not (t == "integer" and "number" in types)}
            if more and "any" not in types:
                yield f"{result}: {path} was {text_of(types, True)} and can be {text_of(more, True)}"
            if always and not still and (not above or above in now[result]):
                yield f"{result}: {path} was always there and may be left out"


def main():
    words = sys.argv[1:]
    if "--schemas" in words:
        folders = [words[words.index("--schemas") + 1]]
    else:
        folders = [root / "schemas", pathlib.Path(words[0]).resolve().parent / "schemas"]
    schemas = schemas_in(*folders)
    now = dict(rows_of(name, s) for name, s in schemas.items())
    if "--update" in words:
        lines = [f"{result}\t{path}\t{text_of(*now[result][path])}\n" for result in sorted(now) for path in sorted(now[result])]
        manifest.write_text(HEAD + "".join(lines))
        return
    from common import end_suite, expect

    released = read_manifest()
    for sentence in broken(released, now):
        expect(sentence + ": make a new version of the result (docs/HACKING.md)", False)
    expect("releases are listed", len(released) > 40 and sum(map(len, released.values())) > 2000, len(released))

    # What it must see.
    def said(change):
        s = copy.deepcopy(schemas["status"])
        change(s)
        result, rows = rows_of("status", s)
        return list(broken({"gputune.status/1": was}, {result: rows}))

    def retype(s, to):
        s["properties"]["exit_code"] = {"type": to}

    was = rows_of("status", schemas["status"])[1]
    expect("nothing changed", said(lambda s: None) == [])
    expect("a key went", said(lambda s: s["properties"].pop("rows")) == ["gputune.status/1: rows is there no more"])
    expect("a key of another name", said(lambda s: s["properties"].update(row=s["properties"].pop("rows"))) == ["gputune.status/1: rows is there no more"])
    expect("another type", said(lambda s: retype(s, "string")) == ["gputune.status/1: exit_code was integer and can be string"])
    expect("a fraction", said(lambda s: retype(s, "number")) == ["gputune.status/1: exit_code was integer and can be number"])
    expect("null", said(lambda s: retype(s, ["integer", "null"])) == ["gputune.status/1: exit_code was integer and can be null"])
    expect("left out", said(lambda s: s["required"].remove("rows")) == ["gputune.status/1: rows was always there and may be left out"])
    expect("a new key", said(lambda s: s["properties"].update(new={"type": "string"})) == [])
    expect("a new version", said(lambda s: (s["properties"].pop("rows"), s["properties"]["schema"].update(const="gputune.status/2"))) == [])
    expect("an older version", said(lambda s: s["properties"]["schema"].update(const="gputune.status/0")) == ["gputune.status/1: it is there no more"])
    end_suite()


if __name__ == "__main__":
    main()
