"""python PATH/text.py encode|texts|decode TOKENIZER ...: tokens of a text, and back. Vernier starts it.

encode TOKENIZER FILE prints the ids of the file's text, with blanks between them.
texts TOKENIZER FILE prints a JSON object: the tokens of each text that the file, JSON too, lists.
decode TOKENIZER IDS... prints a JSON array: the text of each list of ids ("12,7,9").
"""

import sys

# Removes this file's folder from the search path: only installed modules are imported.
sys.path.pop(0)

import json  # noqa: E402


def byte_places(text):
    """Where each character of the text begins, in bytes of UTF-8, and where the last one ends."""
    places = [0]
    for character in text:
        places.append(places[-1] + len(character.encode("utf-8", "replace")))
    return places


def described(encoding, texts):
    places = [byte_places(text) for text in texts]
    none = [0]
    sequences = [-1 if number is None else number for number in encoding.sequence_ids]
    added = [bool(flag) for flag in encoding.special_tokens_mask]

    def place(number, side):
        if sequences[number] < 0 or added[number] or not places:
            return 0
        table = places[sequences[number]] if sequences[number] < len(places) else none
        return table[min(encoding.offsets[number][side], len(table) - 1)]

    count = range(len(encoding.ids))
    return {
        "ids": encoding.ids,
        "kinds": encoding.type_ids,
        "added": added,
        "text": sequences,
        "word": [-1 if number is None else number for number in encoding.word_ids],
        "begin": [place(number, 0) for number in count],
        "end": [place(number, 1) for number in count],
    }


def encode_texts(tokenizer, request):
    tokenizer.no_padding()
    encoded = []
    for each in request["texts"]:
        strategy = "only_second" if each["pair"] else "longest_first"
        tokenizer.enable_truncation(request["most"], strategy=strategy)
        if each["words"]:
            encoding = tokenizer.encode(each["words"], is_pretokenized=True)
            encoded.append(described(encoding, []))
        else:
            encoding = tokenizer.encode(each["text"], each["pair"] or None)
            encoded.append(described(encoding, [each["text"], each["pair"]]))
    masks = [tokenizer.token_to_id(name) for name in ("[MASK]", "<mask>", "<MASK>")]
    mask = next((number for number in masks if number is not None), None)
    return {"mask": mask, "texts": encoded}


def main(arguments):
    from tokenizers import Tokenizer

    action, path, *rest = arguments
    tokenizer = Tokenizer.from_file(path)
    if action == "encode":
        with open(rest[0], encoding="utf-8") as file:
            ids = tokenizer.encode(file.read()).ids
        sys.stdout.write(" ".join(map(str, ids)))
    elif action == "texts":
        with open(rest[0], encoding="utf-8") as file:
            json.dump(encode_texts(tokenizer, json.load(file)), sys.stdout)
    else:
        lists = [[int(number) for number in text.split(",") if number] for text in rest]
        json.dump([tokenizer.decode(ids, skip_special_tokens=False) for ids in lists], sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
