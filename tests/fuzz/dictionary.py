#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dictionary.py TARGET FILE: writes libFuzzer's dictionary of a target, the string literals of the sources that read its input,
and the words of tables."""
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MOST = 1200  # libFuzzer picks one at random


def sources(target):
    with open(os.path.join(HERE, "dictionary")) as f:
        rows = [line.split() for line in f if not line.startswith("#")]
    patterns = [p for row in rows if row and row[0] == target for p in row[1:]]
    found = {p: sorted(glob.glob(os.path.join(HERE, "../..", p))) for p in patterns}
    empty = [p for p in patterns if not found[p]]
    if empty:
        sys.exit(f"dictionary: nothing is called {' '.join(empty)}")
    return [path for p in patterns for path in found[p]]


def words(text):
    """Literals that can stand in an input: no includes, no sentences, no formats."""
    text = re.sub(r"/\*.*?\*/", "", re.sub(r"^#.*$", "", text, flags=re.M), flags=re.S)
    for word in re.findall(r'"((?:[^"\\\n]|\\.){2,48})"', text):
        if "%" not in word and word.count(" ") < 3 and re.fullmatch(r"[ -~]+", word):
            yield re.sub(r"\\[ntr]", "", word).replace("\\\"", "\"").replace("\\\\", "\\")


def row_words(text):
    """Names of rows, and the words that they list."""
    for line in re.findall(r"^(?!#|default ).+", text, flags=re.M):
        yield line.split()[0].strip('"')
        for quoted, plain in re.findall(r' (?:also|names|words)=(?:"([^"]*)"|(\S+))', line):
            yield from (quoted or plain).split()


def main(target, out):
    seen = {}
    for path in sources(target):
        with open(path) as f:
            for word in (row_words if path.endswith(".rows") else words)(f.read()):
                seen.setdefault(word)
    with open(out, "w") as f:
        for word in [w for w in seen if len(w) > 1][:MOST]:
            f.write('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"\n')


if __name__ == "__main__":
    main(*sys.argv[1:])
