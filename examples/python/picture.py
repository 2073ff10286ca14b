# SPDX-License-Identifier: Apache-2.0
"""The result of the demo as a picture: test digits with what the net said of them, and its accuracy while it learned.

    picture.write("demo.svg", test, said, steps=[21, 42], accuracies=[0.61, 0.8])

An SVG, written as text: it needs no other package.
"""
COLUMNS, CELL, DIGIT = 10, 58, 40  # digits in a row; pixels from one to the next, and of one
GREEN, RED, GRAY = "#1a7f4b", "#c0392b", "#667"


def text(x, y, words, color="#222", size=13, anchor="start"):
    return f'<text x="{x}" y="{y}" fill="{color}" font-size="{size}" text-anchor="{anchor}">{words}</text>'


def digit(image, left, top):
    """Paths of an 8x8 image, one for each shade of gray in it."""
    side, shades = DIGIT / 8, {}
    for row in range(8):
        for column in range(8):
            shade = round(15 * float(image[row, column, 0]))
            shades.setdefault(shade, []).append(f"M{left + column * side:g} {top + row * side:g}h{side:g}v{side:g}h-{side:g}z")
    return [f'<path fill="#{15 - shade:x}{15 - shade:x}{15 - shade:x}" d="{"".join(parts)}"/>' for shade, parts in sorted(shades.items())]


def digits(part, said, rows, top):
    """These rows of the part, ten a line, each with the answer below it."""
    for n, row in enumerate(rows):
        left, upper = 20 + n % COLUMNS * CELL, top + n // COLUMNS * (CELL + 6)
        yield from digit(part.images[row], left, upper)
        right = said[row] == part.labels[row]
        words = str(said[row]) if right else f"{said[row]}, is {part.labels[row]}"
        yield text(left + DIGIT / 2, upper + DIGIT + 14, words, GREEN if right else RED, anchor="middle")


def curve(steps, accuracies, top):
    """Accuracy against steps, in a frame of 580 x 150."""
    def x(step):
        return 20 + 580 * step / steps[-1]

    def y(accuracy):
        return top + 150 * (1 - accuracy)
    yield f'<rect x="20" y="{top}" width="580" height="150" fill="none" stroke="#ccd"/>'
    for mark in (0.25, 0.5, 0.75, 1.0):
        yield f'<path stroke="#e4e4ee" d="M20 {y(mark):g}h580"/>' + text(604, y(mark) + 4, f"{mark:.0%}", GRAY, 11)
    points = " ".join(f"{x(s):.1f},{y(a):.1f}" for s, a in zip(steps, accuracies))
    yield f'<polyline fill="none" stroke="{GREEN}" stroke-width="2" points="{points}"/>'
    yield text(600, top + 166, f"step {steps[-1]}", GRAY, 11, "end")


def write(path, part, said, steps, accuracies):
    """part: what the net was tested on; said: its answers; accuracies on the validation part, each after so many steps."""
    wrong = [row for row in range(len(said)) if said[row] != part.labels[row]]
    head = f"{len(said)} digits it had never seen: {len(said) - len(wrong)} read right. The first twenty, and what it said:"
    lines = [text(20, 28, head), *digits(part, said, range(20), 42)]
    if wrong:
        lines += [text(20, 192, f"Misread{'' if len(wrong) <= COLUMNS else f', {COLUMNS} of {len(wrong)}'}:"),
                  *digits(part, said, wrong[:COLUMNS], 204)]
    lines += [text(20, 294, "Accuracy on the validation part while it learned:"), *curve(steps, accuracies, 306)]
    with open(path, "w") as f:
        f.write('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 650 486" font-family="sans-serif">\n'
                '<rect width="650" height="486" fill="white"/>\n' + "\n".join(lines) + "\n</svg>\n")
