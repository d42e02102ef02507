# SPDX-License-Identifier: Apache-2.0
"""Line plots as SVG, written by hand."""

COLOURS = ["#4477aa", "#228833", "#cc3311", "#ee7733", "#aa3377", "#66ccee"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 440, 70, 150, 40, 50


def ticks(low, high):
    span = high - low or 1
    step = 10 ** len(str(int(span))) / 100 if span >= 1 else 0.1
    for factor in (1, 2, 5, 10, 20, 50, 100):
        if span / (step * factor) <= 8:
            step *= factor
            break
    first = int(low / step) * step
    return [first + i * step for i in range(int(span / step) + 2) if low <= first + i * step <= high + 1e-9]


def lines(title, x_label, y_label, series, marks=()):
    """series: (name, [(x, y)], dashed). marks: (x, text) of vertical lines."""
    xs = [x for _, points, _ in series for x, _ in points] + [x for x, _ in marks]
    ys = [y for _, points, _ in series for _, y in points]
    x0, x1, y0, y1 = min(xs), max(xs), 0, max(ys) * 1.05

    def px(x):
        return LEFT + (x - x0) / ((x1 - x0) or 1) * (WIDTH - LEFT - RIGHT)

    def py(y):
        return HEIGHT - BOTTOM - (y - y0) / ((y1 - y0) or 1) * (HEIGHT - TOP - BOTTOM)

    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">' % (WIDTH, HEIGHT),
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="%d" y="22" font-size="15">%s</text>' % (LEFT, title)]
    for x in ticks(x0, x1):
        out.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/>' % (px(x), TOP, px(x), HEIGHT - BOTTOM))
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%g</text>' % (px(x), HEIGHT - BOTTOM + 18, x))
    for y in ticks(y0, y1):
        out.append('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>' % (LEFT, py(y), WIDTH - RIGHT, py(y)))
        out.append('<text x="%d" y="%.1f" text-anchor="end">%g</text>' % (LEFT - 6, py(y) + 4, y))
    out.append('<text x="%d" y="%d" text-anchor="middle">%s</text>' % ((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label))
    out.append('<text x="16" y="%d" transform="rotate(-90 16 %d)" text-anchor="middle">%s</text>' % (HEIGHT / 2, HEIGHT / 2, y_label))
    for x, text in marks:
        out.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#888" stroke-dasharray="2 3"/>' % (px(x), TOP, px(x), HEIGHT - BOTTOM))
        out.append('<text x="%.1f" y="%d" fill="#666" font-size="11">%s</text>' % (px(x) + 4, TOP + 12, text))
    for i, (name, points, dashed) in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join("%.1f,%.1f" % (px(x), py(y)) for x, y in points)
        out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>' % (path, colour, ' stroke-dasharray="6 4"' if dashed else ""))
        out += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (px(x), py(y), colour) for x, y in points]
        out.append('<text x="%d" y="%d" fill="%s">%s</text>' % (WIDTH - RIGHT + 12, TOP + 16 + 20 * i, colour, name))
    return "\n".join(out + ["</svg>", ""])
