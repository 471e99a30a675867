"""Arrays, archives, images, tables and configurations that claim what they do not hold."""

import io
import json
import struct
import zipfile
import zlib


def npy(header, data=b""):
    text = header.encode("latin1")
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + data


def described(shape, descr="'<f4'", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def arrays():
    yield "shape_most", npy(described("(9223372036854775807,)"))
    yield "shape_overflow", npy(described("(4294967296, 4294967296)"))
    yield "shape_negative", npy(described("(-2,)"), b"\0" * 8)
    yield "shape_of_digits", npy(described("(" + "9" * 5000 + ",)"))
    yield "shape_terabyte", npy(described("(1048576, 262144)"))
    yield "rank_5000", npy(described("(" + "1," * 5000 + ")"), b"\0" * 4)
    yield "objects", npy(described("(2,)", "'|O'"), b"cos\nsystem\n(S'true'\ntR.")
    yield "records", npy(described("(2,)", "[('a', '<f4'), ('b', '<f4')]"), b"\0" * 16)
    yield "nested_brackets", npy("{'descr': " + "(" * 100_000)
    yield "nested_lists", npy("{'descr': " + "[" * 100_000 + "]" * 100_000 + "}")
    yield "header_4_gigabytes", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{"
    yield "header_of_nothing", b"\x93NUMPY\x01\x00\x00\x00"
    yield "escapes", npy(described("(2,)", "'\x1b[2J\x9b'"), b"\0" * 8)


def archive(members, method=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as file:
        for name, content in members:
            file.writestr(name, content)
    return stream.getvalue()


def deflated_zeros(head, size):
    """`head` and then zeros, a megabyte at a time: every one is the same bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + block * (size >> 20) + packer.flush()


def bomb(shape, size):
    """A deflated array of zeros, whose checksum nobody lives to see."""
    head = npy(described(shape))
    content = deflated_zeros(head, size)
    extra = struct.pack("<2H2Q", 1, 16, len(head) + size, len(content))
    common = struct.pack("<5H3I2H", 45, 0, 8, 0, 33, 0, 0xFFFFFFFF, 0xFFFFFFFF, 5, len(extra))
    local = b"PK\3\4" + common + b"x.npy" + extra
    central = b"PK\1\2" + struct.pack("<H", 45) + common + struct.pack("<3H2I", 0, 0, 0, 0, 0) + b"x.npy" + extra
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local) + len(content), 0)
    return local + content + central + end


def overlapping():
    """Two hundred members that are all the same bytes of the file."""
    content = npy(described("(262144,)"), b"\0" * (1 << 20))
    packed = archive([("x.npy", content)], zipfile.ZIP_DEFLATED)
    end = packed.rindex(b"PK\5\6")
    start = struct.unpack("<I", packed[end + 16 : end + 20])[0]
    entry = packed[start:end]
    entries = b"".join(entry.replace(b"x.npy", b"%c%c.npy" % (97 + i // 26 % 26, 97 + i % 26)).replace(struct.pack("<H", 5), struct.pack("<H", 6), 1) for i in range(200))
    return packed[:start] + entries + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 200, 200, len(entries), start, 0)


def archives():
    good = npy(described("(1, 2)"), b"\0" * 8)
    yield "bomb", bomb("(1073741824,)", 4 << 30)
    yield "overlapping", overlapping()
    yield "empty", archive([])
    yield "names", archive([("\x1b[2J\u202e.npy", good), ("../../x.npy", good), ("x" * 60_000 + ".npy", good), (".npy", good), ("x", good)])
    yield "same_name", archive([("x.npy", good), ("x.npy", good)])
    yield "not_arrays", archive([("x.npy", b"hello"), ("y.npy", b"")])
    yield "members_50000", archive([(f"{i}.npy", b"") for i in range(50_000)])
    for name, content in arrays():
        yield f"of_{name}", archive([("x.npy", content)])
    stored = archive([("x.npy", good)])
    directory = stored.rindex(b"PK\1\2")
    yield "encrypted", stored[: directory + 8] + b"\1\0" + stored[directory + 10 :]
    yield "offset_beyond", stored[: directory + 42] + b"\xfe\xff\xff\xff" + stored[directory + 46 :]
    yield "size_beyond", stored[: directory + 20] + b"\xfe\xff\xff\x7f" * 2 + stored[directory + 28 :]
    yield "method_unknown", stored[: directory + 10] + b"\x63\0" + stored[directory + 12 :]


def zeros_gz(size):
    head = b"\0\0\x08\x03" + struct.pack(">3I", size // 784, 28, 28)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\3" + deflated_zeros(head, size) + bytes(8)


def idx_files():
    yield "bomb.gz", zeros_gz(4 << 30)
    yield "dimensions", b"\0\0\x08\x03" + b"\xff" * 12
    yield "rank_255", b"\0\0\x08\xff" + b"\0\0\0\1" * 255
    yield "type", b"\0\0\x07\x03" + b"\0\0\0\1" * 3
    yield "cut_off", b"\0\0\x08"


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width, height, data, depth=8):
    header = struct.pack(">2I5B", width, height, depth, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def images():
    side = 65536
    yield "square.png", png(side, side, b"\0" * 1000)
    yield "widest.png", png((1 << 31) - 1, (1 << 31) - 1, b"\0")
    yield "none.png", png(0, 0, b"")
    yield "text_bomb.png", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", 1, 1, 8, 2, 0, 0, 0)) + chunk(b"zTXt", b"k\0\0" + zlib.compress(b"\0" * (64 << 20))) + chunk(b"IDAT", zlib.compress(b"\0" * 4)) + chunk(b"IEND", b"")
    jpeg = b"\xff\xd8\xff\xc0\0\x11\x08" + struct.pack(">2H", 65535, 65535) + b"\3\1\x22\0\2\x11\1\3\x11\1"
    yield "square.jpg", jpeg + b"\xff\xda\0\x0c\3\1\0\2\x11\3\x11\0\x3f\0" + b"\0" * 100 + b"\xff\xd9"
    yield "scans.jpg", jpeg.replace(b"\xff\xc0", b"\xff\xc2") + b"\xff\xda\0\x08\1\1\0\0\0\0\0" * 20_000
    webp = b"VP8X\x0a\0\0\0\0\0\0\0" + struct.pack("<I", 16383)[:3] * 2
    yield "square.webp", b"RIFF" + struct.pack("<I", 4 + len(webp)) + b"WEBP" + webp
    yield "square.bmp", b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, side, side, 1, 24, 0, 0, 0, 0, 0, 0)
    yield "smallest.bmp", b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, -(1 << 31), -(1 << 31), 1, 24, 0, 0, 0, 0, 0, 0)
    yield "square.ppm", b"P6 65536 65536 255\n"
    yield "digits.ppm", b"P6 " + b"9" * 5000 + b" 1 255\n"
    yield "value.ppm", b"P6 1 1 0\n\0\0\0"


def nested(opening, closing, depth=100_000):
    return (opening * depth + closing * depth).encode()


def json_texts():
    yield "nested_arrays", nested("[", "]")
    yield "nested_objects", nested('{"a":', "}").replace(b":}", b":1}")
    for key in ("inputs", "outputs", "figures", "ranges", "id2label", "size", "image_mean", "vernier_baseline", "command", "schema_version", "model", "label2id"):
        yield f"nested_{key}", f'{{"{key}": '.encode() + nested("[", "]") + b"}"
    yield "numbers", json.dumps({key: 1e308 for key in ("inputs", "outputs", "figures", "ranges", "id2label", "size", "image_mean", "image_std", "model")}).encode()
    yield "digits", b'{"size": ' + b"9" * 5000 + b', "inputs": 1e999999}'
    yield "surrogates", b'{"task": "\\ud800", "inputs": [{"name": "\\u0000\\u001b[2J"}], "command": "\\udfff"}'
    yield "invalid_utf8", b'{"inputs": [{"name": "\xff\xfe"}], "\xff": 1, "ranges": {"\xff": {}}}'
    yield "nothing", b""
    yield "null", b"null"
    yield "words", b"\x1b[2J hello"
    yield "string_of_8_megabytes", b'{"task": "' + b"a" * (8 << 20) + b'"}'


def parts():
    """What --shard writes, and what nobody wrote."""
    head = b"vernier part 2\n"
    facts = {"command": "eval", "arguments": ["eval", "--help"], "folder": "/", "facts": {}, "samples": 4, "shard": [1, 1]}
    yield "nested", head + nested("[", "]") + b"\n"
    for name, change in {"samples": {"samples": (1 << 63) - 1}, "negative": {"samples": -5}, "shard": {"shard": [0, 0]}, "shards": {"shard": [1, 1 << 40]}, "folder": {"folder": "/nobody\x1b"}, "command": {"command": "\x1b[2J", "arguments": ["\x1b[2J"]}, "itself": {"command": "merge", "arguments": ["merge", "x.vpart"]}}.items():
        yield name, head + json.dumps(facts | change).encode() + b"\n"
    yield "record", head + json.dumps(facts).encode() + b"\n" + b"\xff" * 200
    yield "version", b"vernier part " + b"9" * 100 + b"\n{}\n"
