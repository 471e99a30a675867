"""python PATH/text.py encode|decode TOKENIZER ...: tokens of a text, and back. Vernier starts it.

encode TOKENIZER FILE prints the ids of the file's text, with blanks between them.
decode TOKENIZER IDS... prints a JSON array: the text of each list of ids ("12,7,9").
"""

import sys

# The folder of this file is not searched for modules: only what is installed.
sys.path.pop(0)

import json  # noqa: E402


def main(arguments):
    from tokenizers import Tokenizer

    action, path, *rest = arguments
    tokenizer = Tokenizer.from_file(path)
    if action == "encode":
        with open(rest[0], encoding="utf-8") as file:
            ids = tokenizer.encode(file.read()).ids
        sys.stdout.write(" ".join(map(str, ids)))
    else:
        lists = [[int(number) for number in text.split(",") if number] for text in rest]
        json.dump([tokenizer.decode(ids, skip_special_tokens=False) for ids in lists], sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
