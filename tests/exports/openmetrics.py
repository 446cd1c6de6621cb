"""A strict reader of OpenMetrics 1.0 text (https://prometheus.io/docs/specs/om/open_metrics_spec/), as far as `pincheck
export` uses it: gauges and info. What it does not know is an error."""

import math
import re
import sys

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
UNITS = ("seconds", "bytes")


def unescaped(text, quote):
    """Of a label's value (up to its closing quote) or of a help text; returns it and what follows."""
    result, at = "", 0
    while at < len(text):
        char = text[at]
        if quote and char == '"':
            return result, text[at + 1:]
        if char == "\\":
            at += 1
            if at == len(text) or text[at] not in 'n\\"':
                raise ValueError("no such escape")
            char = "\n" if text[at] == "n" else text[at]
        elif char == '"':
            raise ValueError("a quote in a help text that is not escaped")
        result += char
        at += 1
    if quote:
        raise ValueError("a label's value has no end")
    return result, ""


def labels_of(text):
    """From behind the brace; returns labels and what follows the closing one."""
    labels = {}
    while not text.startswith("}"):
        name, equals, rest = text.partition('="')
        if not equals or not LABEL.match(name) or name.startswith("__") or name in labels:
            raise ValueError(f"no label, or one twice: {name!r}")
        labels[name], text = unescaped(rest, True)
        if text.startswith(",") and not text.startswith(",}"):
            text = text[1:]
        elif not text.startswith("}"):
            raise ValueError("neither , nor } behind a label")
    return labels, text[1:]


class Family:
    def __init__(self, name):
        self.name, self.type, self.unit, self.help, self.samples = name, None, None, None, {}

    def describe(self, keyword, value):
        if self.samples:
            raise ValueError("metadata behind a sample of its family")
        if getattr(self, keyword) is not None:
            raise ValueError(f"{keyword} twice")
        setattr(self, keyword, value)
        if keyword == "type" and value not in ("gauge", "info"):
            raise ValueError("a type that pincheck does not use")
        if keyword == "unit" and (self.type == "info" or not self.name.endswith("_" + value)):
            raise ValueError("the name does not end in the unit, or is an info's")

    def add(self, labels, value):
        key = frozenset(labels.items())
        if key in self.samples:
            raise ValueError("a sample twice")
        if self.samples and {name for name, _ in next(iter(self.samples))} != set(labels):
            raise ValueError("samples of one family with different labels")
        if self.type == "info" and value != 1:
            raise ValueError("an info is 1")
        self.samples[key] = value


def parse(data):
    """Families by name; ValueError with the line where something is wrong."""
    text = data.decode("utf-8")  # strict
    if "\r" in text or "\0" in text or not text.endswith("\n"):
        raise ValueError("CR, NUL, or no newline at the end")
    lines = text[:-1].split("\n")
    if lines.pop() != "# EOF":
        raise ValueError("the last line is not # EOF")
    families, family = {}, None
    for number, line in enumerate(lines, 1):
        try:
            if line.startswith("# "):
                keyword, name, value = line[2:].split(" ", 2)
                if keyword not in ("TYPE", "UNIT", "HELP") or not NAME.match(name):
                    raise ValueError("neither # TYPE, # UNIT nor # HELP")
                if family is None or name != family.name:
                    if name in families:
                        raise ValueError("a family twice, or interleaved with another")
                    family = families[name] = Family(name)
                family.describe(keyword.lower(), unescaped(value, False)[0] if keyword == "HELP" else value)
                continue
            end = re.search(r"[ {]", line)
            name = line[:end.start()]
            suffix = "_info" if family is not None and family.type == "info" else ""
            if family is None or name != family.name + suffix:
                raise ValueError("a sample of no or another family")
            labels, rest = labels_of(line[end.end():]) if line[end.start()] == "{" else ({}, " " + line[end.end():])
            if not rest.startswith(" ") or not NUMBER.match(rest[1:]):
                raise ValueError("no space and number behind the name and its labels")
            value = float(rest[1:])
            if not math.isfinite(value) or value < 0:
                raise ValueError("a value that no amount has")
            family.add(labels, value)
        except (ValueError, AttributeError) as error:
            raise ValueError(f"line {number}: {error}: {line[:200]!r}") from None
    for one in families.values():
        if None in (one.type, one.help):
            raise ValueError(f"{one.name}: no TYPE or no HELP")
        if any(one.name.endswith("_" + unit) != (one.unit == unit) for unit in UNITS):
            raise ValueError(f"{one.name}: the name's unit is not declared")
    return families


GOOD = '# TYPE a_bytes gauge\n# UNIT a_bytes bytes\n# HELP a_bytes x\na_bytes{l="\\"\\\\\\n"} 1\na_bytes{l=""} 2.5\n'
WRONG = (
    GOOD,  # no end
    "# EOF\n# EOF\n",
    GOOD + "# EOF",
    GOOD + "\n# EOF\n",
    GOOD + GOOD + "# EOF\n",
    GOOD + 'a_bytes{l=""} 3\n# EOF\n',
    GOOD + 'a_bytes{k=""} 3\n# EOF\n',
    GOOD + 'b{l=""} 3\n# EOF\n',
    GOOD + 'a_bytes{l="x"}  3\n# EOF\n',
    GOOD + 'a_bytes{l="x"} NaN\n# EOF\n',
    GOOD + 'a_bytes{l="\\t"} 3\n# EOF\n',
    GOOD + 'a_bytes{l="x} 3\n# EOF\n',
    GOOD + 'a_bytes{l="x",} 3\n# EOF\n',
    GOOD + 'a_bytes{l="x",l="y"} 3\n# EOF\n',
    GOOD + 'a_bytes{l="\n"} 3\n# EOF\n',
    GOOD + "# a comment\n# EOF\n",
    GOOD.replace("# UNIT a_bytes bytes\n", "") + "# EOF\n",
    GOOD.replace("# TYPE a_bytes gauge\n", "") + "# EOF\n",
    GOOD.replace("UNIT a_bytes bytes", "UNIT a_bytes seconds") + "# EOF\n",
    GOOD.replace("gauge", "gouge") + "# EOF\n",
)


def self_test():
    """That it finds what is wrong: a reader that takes everything would test nothing."""
    labels = [dict(key)["l"] for key in parse((GOOD + "# EOF\n").encode())["a_bytes"].samples]
    assert labels == ['"\\\n', ""], labels
    for text in WRONG:
        try:
            parse(text.encode())
        except ValueError:
            continue
        raise AssertionError(f"was taken: {text!r}")


if __name__ == "__main__":
    self_test()
    for path in sys.argv[1:]:
        print(path, sum(len(family.samples) for family in parse(open(path, "rb").read()).values()), "samples")
