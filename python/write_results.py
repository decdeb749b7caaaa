#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""write_results.py OUT SCHEMA...: the schemas of results as types of Python. Runs when the program is built."""
import json
import keyword
import pathlib
import sys

HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""What verbs answer, a type a result; made from the schemas. Keys that a result may lack stand in the class, the others in its base."""
import typing

'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def camel(name):
    return "".join(part[:1].upper() + part[1:] for part in name.replace("-", "_").split("_") if part)


class Writer:
    def __init__(self, result):
        self.result, self.out, self.done = camel(result), [], set()

    def joined(self, types):
        types = list(dict.fromkeys(types))
        return types[0] if len(types) == 1 else f"typing.Union[{', '.join(types)}]"

    def type_of(self, s, name, defs):
        if "$ref" in s:
            key = s["$ref"].rsplit("/", 1)[1]
            return self.object(defs[key], self.result + camel(key), defs)
        for word in ("oneOf", "anyOf"):
            if word in s and "type" not in s:
                return self.joined(self.type_of(x, f"{name}{i + 1}", defs) for i, x in enumerate(s[word]))
        if "const" in s or "enum" in s:
            return self.joined(PLAIN[{str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}[type(v)]]
                               for v in s.get("enum", [s.get("const")]))
        kinds = s.get("type", [])
        return self.joined(self.plain(k, s, name, defs) for k in ([kinds] if isinstance(kinds, str) else kinds)) if kinds else "typing.Any"

    def plain(self, kind, s, name, defs):
        if kind == "array":
            return f"typing.List[{self.type_of(s['items'], name + 'Item', defs)}]" if isinstance(s.get("items"), dict) else "typing.List[typing.Any]"
        return self.object(s, name, defs) if kind == "object" else PLAIN[kind]

    def object(self, s, name, defs):
        if s.get("type") != "object" or "oneOf" in s:
            return self.type_of(s, name, defs)
        props = s.get("properties")
        if not props:
            more = s.get("additionalProperties")
            return f"typing.Dict[str, {self.type_of(more, name + 'Value', defs)}]" if isinstance(more, dict) else "typing.Dict[str, typing.Any]"
        if name not in self.done:
            self.done.add(name)
            self.klass(name, props, set(s.get("required", [])), defs)
        return f'"{name}"'

    def klass(self, name, props, required, defs):
        types = {k: self.type_of(v, name + camel(k), defs) for k, v in props.items()}
        if any(not k.isidentifier() or keyword.iskeyword(k) for k in props):
            # Not a class: "pass" is no name of a member there.
            of = ", ".join(f'"{k}": {t}' for k, t in types.items())
            self.out += [f"\n\n{name} = typing.TypedDict(\"{name}\", {{{of}}}{'' if set(props) <= required else ', total=False'})"]
            return
        lines = {k: f"    {k}: {t}" for k, t in types.items()}
        base, rest = [lines[k] for k in props if k in required], [lines[k] for k in props if k not in required]
        if base and rest:
            self.out += [f"\n\nclass _{name}(typing.TypedDict):", *base, f"\n\nclass {name}(_{name}, total=False):", *rest]
        else:
            self.out += [f"\n\nclass {name}(typing.TypedDict{'' if base else ', total=False'}):", *(base or rest)]


def main():
    out = [HEAD]
    for path in sorted(sys.argv[2:]):
        if not path.endswith(".json"):
            continue
        schema = json.loads(pathlib.Path(path).read_text())
        w = Writer(pathlib.Path(path).stem)
        w.object(schema, w.result, schema.get("$defs", {}))
        out.append("\n".join(w.out))
    pathlib.Path(sys.argv[1]).write_text("".join(out).replace("\n\n\n\n", "\n\n\n") + "\n")


main()
