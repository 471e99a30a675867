"""Sentences and their tokens by regular expressions, one line each: name, sentence, tokens.

The expressions are those of the NIST evaluation scripts mteval-v13a and mteval-v14.
"""
import random
import re
import unicodedata

alphabet = list("ab09.,-'\"&<>()/:;!$%  ") + list("éß½٣—«»€。，中文字\u00a0\u2003\u3000\U00020001\u2f90")


def western(line):
    line = re.sub(r"([{-~\[-` -&(-+:-@/])", r" \1 ", line)
    line = re.sub(r"([^0-9])([.,])", r"\1 \2 ", line)
    line = re.sub(r"([.,])([^0-9])", r" \1 \2", line)
    return re.sub(r"([0-9])(-)", r"\1 \2 ", line)


def mteval_13a(line):
    for escaped, plain in ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"):
        line = line.replace(escaped, plain)
    return western(f" {line.replace('<skipped>', '')} ")


def characters(major):
    """A class for `re` with every character of a general category."""
    members = (chr(c) for c in range(0x110000) if unicodedata.category(chr(c))[0] == major)
    return "".join(re.escape(c) for c in members)


punctuation, symbols, numbers = (characters(major) for major in "PSN")
before = re.compile(f"([^{numbers}])([{punctuation}])")
after = re.compile(f"([{punctuation}])([^{numbers}])")
symbol = re.compile(f"([{symbols}])")


def international(line):
    line = before.sub(r"\1 \2 ", line)
    line = after.sub(r" \1 \2", line)
    return symbol.sub(r" \1 ", line)


def chinese(line):
    # The ranges that matter to this alphabet.
    return western(re.sub("([\u2001-\u2a6d\u2e80-\u2fdf\u3000-\u303f\u4e00-\u9fbb\uff00-\uffef])", r" \1 ", line.strip()))


tokenisations = {
    "none": lambda line: line,
    "13a": mteval_13a,
    "intl": international,
    "zh": chinese,
    "char": " ".join,
}

random.seed(0)
sentences = ["".join(random.choices(alphabet, k=random.randint(0, 30))) for _ in range(300)]
sentences += ["&quot;&amp;lt;", "a<skipped>b", "-5.3, 1,000.50.", "2019.", "Hello, world!", "..,,.", "It's $5-6."]
for sentence in sentences:
    for name, separate in tokenisations.items():
        tokens = separate(sentence.rstrip()).split()
        print(name, sentence, "\x01".join(tokens), sep="\x02", end="\x03")
