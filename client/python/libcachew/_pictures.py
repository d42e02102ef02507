# SPDX-License-Identifier: Apache-2.0
"""Values as HTML: images as images, text as text, signals and spectra as plots, all in one text without anything beside it."""
from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_SIDE_MAX = 256  # pixels of an image, beyond which it is thinned out
_TEXT_MAX = 600  # characters
_VALUES_MAX = 48
_POINTS = 300  # columns of a plot
_MAGIC = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png", b"GIF8": "image/gif"}
# Colours of a spectrum, from little to much (those of Matplotlib's viridis, at even steps).
_COLOURS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))


def _png(rows: Any) -> bytes:
    """A PNG of u8[height, width] or u8[height, width, 3 or 4]."""
    height, width = rows.shape[:2]
    kind = {1: 0, 3: 2, 4: 6}[1 if rows.ndim == 2 else rows.shape[2]]

    def part(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)) +
            part(b"IDAT", zlib.compress(lines)) + part(b"IEND", b""))


def _picture(data: bytes, kind: str, words: str, width: int | None = None) -> str:
    size = "" if width is None else f" width={width}"
    return f'<img alt="{html.escape(words)}" title="{html.escape(words)}"{size} style="max-width:100%;image-rendering:pixelated;vertical-align:top" ' \
           f'src="data:{kind};base64,{base64.b64encode(data).decode()}">'


def _encoded_kind(value: bytes) -> str | None:
    """The type of an image file, or None."""
    if value[:4] == b"RIFF" and value[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC.items() if value.startswith(magic)), None)


def text(value: bytes) -> str:
    """A string: an image file is shown, UTF-8 is text, and of anything else some bytes."""
    kind = _encoded_kind(value)
    if kind is not None and len(value) <= 1 << 20:
        return _picture(value, kind, f"{kind}, {len(value)} bytes")
    try:
        words = value.decode()
        if words.isprintable() or not any(ord(c) < 32 and c not in "\n\r\t" for c in words):
            more = f" … ({len(words)} characters)" if len(words) > _TEXT_MAX else ""
            return f'<div style="white-space:pre-wrap;max-width:40em">{html.escape(words[:_TEXT_MAX])}{more}</div>'
    except UnicodeDecodeError:
        pass
    return f"<code>{value[:24].hex(' ')}{' …' if len(value) > 24 else ''}</code> ({len(value)} bytes)"


def _thinned(values: Any) -> Any:
    step = max(1, -(-max(values.shape[:2]) // _SIDE_MAX))
    return values[::step, ::step]


def _finite(values: Any) -> Any:
    import numpy as np

    return np.nan_to_num(np.asarray(values, np.float64), nan=0.0, posinf=0.0, neginf=0.0)


def _as_bytes(values: Any) -> tuple[Any, str]:
    """The values as u8, and what they were made of: bytes as they are, [0, 1] times 255, others from the least to the greatest."""
    import numpy as np

    if values.dtype == np.uint8:
        return values, ""
    if values.dtype == np.bool_:
        return values.astype(np.uint8) * 255, ""
    numbers = _finite(values)
    low, high = float(numbers.min()), float(numbers.max())
    if values.dtype.kind == "f" and low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    span = high - low or 1.0
    return ((numbers - low) / span * 255 + 0.5).astype(np.uint8), f", black {low:.4g}, white {high:.4g}"


def _channels_last(values: Any) -> Any:
    """[h, w, c] of [h, w, c] or [c, h, w], [h, w] of one channel; None of what is no image."""
    if values.ndim == 2 and values.dtype.kind in "ub":
        return values
    if values.ndim == 3 and values.shape[2] in (1, 3, 4):
        return values[:, :, 0] if values.shape[2] == 1 else values
    if values.ndim == 3 and values.shape[0] in (1, 3, 4):
        return values[0] if values.shape[0] == 1 else values.transpose(1, 2, 0)
    return None


def _image(name: str, values: Any) -> str:
    pixels, scale = _as_bytes(_thinned(values))
    width = pixels.shape[1]
    return _picture(_png(pixels), "image/png", f"{name}: {_kind(values)}{scale}", width * max(1, 96 // max(pixels.shape[:2])))


def _spectrum(name: str, values: Any) -> str:
    """A map of colours, as `spectrogram` and `mel` give it: the first dimension, frequency, upwards, and the second, time, to the right."""
    import numpy as np

    grey, scale = _as_bytes(_thinned(values))
    table = np.stack([np.interp(np.arange(256), np.linspace(0, 255, len(_COLOURS)), [colour[c] for colour in _COLOURS]) for c in range(3)],
                     axis=1).astype(np.uint8)
    pixels = table[grey[::-1]]
    words = f"{name}: {_kind(values)}{scale.replace('black', 'dark').replace('white', 'light')}"
    return _picture(_png(pixels), "image/png", words, pixels.shape[1] * max(1, 160 // max(pixels.shape[:2])))


def _curve(name: str, values: Any) -> str:
    """A signal: between the least and the greatest value of each column."""
    import numpy as np

    numbers = _finite(values)
    low, high = float(numbers.min()), float(numbers.max())
    columns = np.array_split(numbers, min(len(numbers), _POINTS))
    height, span = 80, high - low or 1.0

    def y(value: float) -> str:
        return f"{height - (value - low) / span * height:.1f}"

    if len(numbers) <= _POINTS:
        points = " ".join(f"{x},{y(column[0])}" for x, column in enumerate(columns))
        drawn = f'<polyline points="{points}" fill="none" stroke="currentColor" vector-effect="non-scaling-stroke"/>'
    else:
        lines = "".join(f"M{x} {y(column.min())}V{y(column.max())}" for x, column in enumerate(columns))
        drawn = f'<path d="{lines}" fill="none" stroke="currentColor" vector-effect="non-scaling-stroke"/>'
    words = html.escape(f"{name}: {_kind(values)}, from {low:.4g} to {high:.4g}")
    return f'<svg role="img" width="300" height="{height}" viewBox="0 -1 {max(2, len(columns))} {height + 2}" preserveAspectRatio="none" ' \
           f'style="display:block"><title>{words}</title>{drawn}</svg>{low:.4g} … {high:.4g}'


def _kind(values: Any) -> str:
    return f"{values.dtype}{list(values.shape)}"


def _numbers(values: Any) -> str:
    """The first values, and of many the least, the mean and the greatest."""
    if values.ndim == 0:
        return html.escape(str(values.item()))
    flat = values.reshape(-1)
    shown = ", ".join(f"{value:.6g}" if values.dtype.kind == "f" else str(value) for value in flat[:_VALUES_MAX].tolist())
    if values.ndim == 1 and flat.size <= _VALUES_MAX:
        return f"[{shown}]"
    some = "" if flat.size == 0 else f"<br>from {flat.min()} to {flat.max()}" + (f", mean {_finite(flat).mean():.4g}" if flat.dtype.kind != "b" else "")
    return f"{_kind(values)}: {shown}{' …' if flat.size > _VALUES_MAX else ''}{some}"


def numbers(name: str, values: Any) -> str:
    """An array: an image, a signal, a spectrum, or its values."""
    image = _channels_last(values) if min(values.shape, default=0) > 0 else None
    if image is not None and min(image.shape[:2]) >= 4:
        return _image(name, image)
    if values.dtype.kind == "f" and values.ndim == 2 and min(values.shape) >= 8:
        return _spectrum(name, values)
    if (values.dtype.kind == "f" or values.dtype == "int16") and max(values.shape, default=0) > _VALUES_MAX:
        if values.ndim == 1:
            return _curve(name, values)
        if values.ndim == 2 and min(values.shape) <= 2 and min(values.shape) > 0:
            return "".join(_curve(name, channel) for channel in (values if values.shape[0] <= 2 else values.T))
    return _numbers(values)
