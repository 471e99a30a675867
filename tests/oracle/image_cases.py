"""Images in many formats and what Pillow makes of them, for tests/data/image_test.cpp.

Writes to stdout, for each case: its name, the encoded file, the size as "width height", and the
pixels of convert("RGB") and of convert("L") after ImageOps.exif_transpose; each as a blob behind
its length in 8 bytes.
"""
import io
import struct
import sys
import warnings
import zlib

import numpy as np
from PIL import Image, ImageOps

warnings.simplefilter("ignore")
rng = np.random.default_rng(7)


def shows_missing_colours_as_grey():
    """Whether an index past the palette is grey, as in Vernier; newer versions of Pillow say black."""
    image = Image.new("P", (1, 1), 5)
    image.putpalette([1, 2, 3])
    return image.convert("RGB").getpixel((0, 0)) == (5, 5, 5)


SHORT_PALETTES = shows_missing_colours_as_grey()


def picture(width, height, channels=3):
    """A gradient with noise: smooth enough for JPEG, rough enough to show every rounding."""
    y, x = np.mgrid[0:height, 0:width]
    base = np.stack([x * 255 // max(width - 1, 1), y * 255 // max(height - 1, 1), (x * y) % 256, 255 - x], -1)
    noisy = base[..., :channels] + rng.integers(-40, 40, (height, width, channels))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def saved(image, format, **options):
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def exif(orientation, endian="<"):
    data = Image.Exif()
    data.endian = endian
    data[0x0112] = orientation
    data[0x010F] = "maker"
    return data.tobytes()


def jpeg_cases():
    for width, height in [(1, 1), (7, 5), (8, 8), (16, 16), (17, 33), (64, 48)]:
        rgb = Image.fromarray(picture(width, height))
        for subsampling in (0, 1, 2):
            for progressive in (False, True):
                yield f"{width}x{height} s{subsampling} p{progressive}", saved(
                    rgb, "JPEG", quality=80, subsampling=subsampling, progressive=progressive)
    rgb = Image.fromarray(picture(31, 19))
    yield "grey", saved(rgb.convert("L"), "JPEG")
    cmyk = saved(Image.fromarray(picture(31, 19, 4), "CMYK"), "JPEG", quality=90)
    yield "cmyk", cmyk
    adobe = cmyk.index(b"Adobe")
    yield "ycck", cmyk[: adobe + 11] + b"\x02" + cmyk[adobe + 12:]
    yield "junk behind", saved(rgb, "JPEG") + b"junk"
    for orientation in range(0, 10):
        yield f"exif {orientation}", saved(rgb, "JPEG", exif=exif(orientation))
    yield "exif big endian", saved(rgb, "JPEG", exif=exif(6, ">"))
    yield "exif cut off", saved(rgb, "JPEG", exif=exif(6)[:20])


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png_rows(samples, depth):
    """Filter type 0 and the packed samples of each row."""
    height, width, channels = samples.shape
    rows = b""
    for row in samples.reshape(height, width * channels):
        if depth == 16:
            data = row.astype(">u2").tobytes()
        elif depth == 8:
            data = row.astype(np.uint8).tobytes()
        else:
            bits = "".join(format(v, f"0{depth}b") for v in row)
            bits += "0" * (-len(bits) % 8)
            data = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
        rows += b"\0" + data
    return rows


def png(samples, depth, colour, interlaced=False, before=b"", after=b""):
    height, width, _ = samples.shape
    if interlaced:
        passes = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7]
        rows = b"".join(png_rows(p, depth) for p in passes if p.size)
    else:
        rows = png_rows(samples, depth)
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before +
            chunk(b"IDAT", zlib.compress(rows)) + after + chunk(b"IEND", b""))


def png_cases():
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
    depths = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
    for colour, bands in channels.items():
        for depth in depths[colour]:
            for interlaced in (False, True):
                for width, height in [(1, 1), (13, 9), (33, 17)]:
                    samples = rng.integers(0, 2**depth, (height, width, bands))
                    before = b""
                    if colour == 3:
                        count = max(2, 2**depth * 3 // 4) if SHORT_PALETTES else 2**depth
                        before = chunk(b"PLTE", rng.bytes(3 * count))
                        if width == 13:
                            before += chunk(b"tRNS", rng.bytes(count // 2))
                    elif colour in (0, 2) and width == 13:
                        before = chunk(b"tRNS", b"\0\1" * bands)
                    yield f"colour {colour} depth {depth} {width}x{height} i{interlaced}", png(
                        samples, depth, colour, interlaced, before)
    small = rng.integers(0, 300, (9, 13, 1))
    yield "grey 16 with small values", png(small, 16, 0)
    rgb = picture(13, 9)
    tiff = exif(8)[6:]
    xmp = b'<x tiff:Orientation="6"/>'
    yield "exif before", png(rgb, 8, 2, before=chunk(b"eXIf", tiff))
    yield "exif behind", png(rgb, 8, 2, after=chunk(b"eXIf", tiff))
    yield "xmp", png(rgb, 8, 2, before=chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp))
    yield "compressed xmp", png(rgb, 8, 2, before=chunk(
        b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(xmp)))
    yield "gamma", png(rgb, 8, 2, before=chunk(b"gAMA", struct.pack(">I", 30000)))
    yield "no end chunk", png(rgb, 8, 2)[:-12]


def bmp(width, height, bits, data, palette=b"", compression=0, header=40, masks=b"", colours=0):
    if header == 12:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, len(data), 0, 0, colours, 0)
        info = struct.pack("<I", header) + info[4:]
    body = info + masks
    body += b"\0" * (header - len(body))
    offset = 14 + len(body) + len(palette)
    return b"BM" + struct.pack("<IHHI", offset + len(data), 0, 0, offset) + body + palette + data


def bmp_cases():
    for width, height in [(1, 1), (5, 3), (17, 9), (32, 8)]:
        rgb = Image.fromarray(picture(width, height))
        for mode in ("1", "L", "P", "RGB", "RGBA"):
            yield f"{mode} {width}x{height}", saved(rgb.convert(mode), "BMP")
        for bits in (1, 4, 8):
            stride = (width * bits + 31) // 32 * 4
            for entry, header in ((4, 40), (3, 12), (4, 108)):
                yield f"palette {bits} header {header} {width}x{height}", bmp(
                    width, height, bits, rng.bytes(stride * height), rng.bytes(entry << bits), header=header)
        for bits in (16, 24, 32):
            stride = (width * bits + 31) // 32 * 4
            data = rng.bytes(stride * height)
            yield f"raw {bits} {width}x{height}", bmp(width, height, bits, data)
            yield f"top down {bits} {width}x{height}", bmp(width, -height, bits, data)
        for bits, masks in [(16, (0xF800, 0x7E0, 0x1F)), (16, (0x7C00, 0x3E0, 0x1F)),
                            (32, (0xFF0000, 0xFF00, 0xFF)), (32, (0xFF000000, 0xFF0000, 0xFF00))]:
            data = rng.bytes((width * bits + 31) // 32 * 4 * height)
            yield f"fields {bits} {masks} {width}x{height}", bmp(
                width, height, bits, data, compression=3, masks=struct.pack("<III", *masks))
        data = rng.bytes(width * 4 * height)
        yield f"rgba fields {width}x{height}", bmp(
            width, height, 32, data, compression=3, header=108,
            masks=struct.pack("<IIII", 0xFF, 0xFF00, 0xFF0000, 0xFF000000))
    runs8 = b"\5\1\0\0" + b"\0\5\1\2\3\4\5\0" + b"\0\0" + b"\2\7\3\x09\0\0\0\1"
    yield "rle8", bmp(5, 3, 8, runs8, rng.bytes(1024), compression=1)
    runs4 = b"\6\x12\0\0" + b"\0\4\x12\x34\2\x56\0\0" + b"\3\x78\3\x9a\0\0\0\1"
    yield "rle4", bmp(6, 3, 4, runs4, rng.bytes(64), compression=2)
    if SHORT_PALETTES:
        yield "few colours", bmp(4, 1, 8, b"\0\1\2\3", rng.bytes(8), colours=2)


def webp_cases():
    rgb, rgba = Image.fromarray(picture(31, 19)), Image.fromarray(picture(31, 19, 4), "RGBA")
    yield "lossy", saved(rgb, "WEBP", quality=70)
    yield "lossless", saved(rgb, "WEBP", lossless=True)
    yield "lossy alpha", saved(rgba, "WEBP", quality=70)
    yield "lossless alpha", saved(rgba, "WEBP", lossless=True)
    yield "animated", saved(rgba, "WEBP", save_all=True, append_images=[rgb.convert("RGBA")], lossless=True)
    for orientation in (3, 6):
        yield f"exif {orientation}", saved(rgb, "WEBP", exif=exif(orientation))


def pnm_cases():
    for width, height in [(1, 1), (9, 5), (16, 3)]:
        rgb = Image.fromarray(picture(width, height))
        for mode in ("1", "L", "RGB"):
            yield f"{mode} {width}x{height}", saved(rgb.convert(mode), "PPM")
        bits = rng.integers(0, 2, height * width)
        yield f"P1 {width}x{height}", b"P1\n# comment\n%d %d\n" % (width, height) + b"".join(b"%d" % b for b in bits)
        for maximum in (1, 5, 100, 255, 256, 1000, 65535):
            for kind, bands in ((2, 1), (3, 3)):
                samples = rng.integers(0, maximum + 1, height * width * bands)
                head = b"%d # width\n %d\n%d\n" % (width, height, maximum)
                yield f"P{kind} {maximum} {width}x{height}", b"P%d " % kind + head + b"\n".join(b"%d" % s for s in samples)
                raw = samples.astype(">u2" if maximum > 255 else np.uint8).tobytes()
                yield f"P{kind + 3} {maximum} {width}x{height}", b"P%d\n" % (kind + 3) + head + raw


def write(blob):
    sys.stdout.buffer.write(struct.pack("<Q", len(blob)) + blob)


cases = {"jpeg": jpeg_cases, "png": png_cases, "bmp": bmp_cases, "webp": webp_cases, "pnm": pnm_cases}
for case_name, encoded in cases[sys.argv[1]]():
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(encoded)))
    write(case_name.encode())
    write(encoded)
    write(b"%d %d" % upright.size)
    write(upright.convert("RGB").tobytes())
    write(upright.convert("L").tobytes())
