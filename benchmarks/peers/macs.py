"""Multiply-adds of one forward pass of the rows' models for one sample, and those of the first layer, whose input needs no gradient."""
import common


def alexnet(z):
    first = (z.side + 4 - 11) // 4 + 1
    second = (first - 3) // 2 + 1
    third = (second - 3) // 2 + 1
    seen = common.alexnet_side(z.side) ** 2 * z.fourth
    begin = first ** 2 * z.first * 363
    return (begin + second ** 2 * z.second * 25 * z.first + third ** 2 * 9 * (z.third * z.second + z.fourth * z.third + z.fourth * z.fourth)
            + seen * z.hidden + z.hidden * z.hidden + z.hidden * z.classes, begin)


def resnet50(z):
    side = -(-z.side // 2)
    first = side * side * z.width * 147
    all_, c, side = first, z.width, -(-side // 2)
    for level, blocks in enumerate((3, 4, 6, 3)):
        width = z.width << level
        for i in range(blocks):
            before = side * side
            if i == 0 and level:
                side = -(-side // 2)
            all_ += before * c * width + side * side * (13 * width * width + (4 * width * c if i == 0 else 0))
            c = 4 * width
    return all_ + c * z.classes, first


def layer(steps, width):
    """Of a transformer whose inner width is four times its own."""
    return 12 * steps * width * width + 2 * steps * steps * width


def vit(z):
    patches, width = (z.side // 16) ** 2, z.heads * z.head
    return patches * width * 768 + 12 * layer(patches + 1, width) + width * z.classes, 0


def unet(z):
    all_, c, n, side = 0, 3, z.base, z.side
    for level in range(5):
        all_ += side * side * 9 * (c * n + n * n)
        c = n
        if level < 4:
            n, side = 2 * n, side // 2
    for _ in range(4):
        n //= 2
        all_ += side * side * 2 * n * n * 4
        side *= 2
        all_ += side * side * 27 * n * n
    return all_ + side * side * n, 0


def conv3d(z):
    begin = z.frames * z.side ** 2 * z.first * 81
    return (begin + z.frames * (z.side // 2) ** 2 * z.second * 27 * z.first + z.frames // 2 * (z.side // 4) ** 2 * z.third * 27 * z.second
            + common.conv3d_values(z) * z.hidden + z.hidden * z.classes, begin)


def transformer(z):
    width = z.heads * z.head
    return z.steps * 4 * (4 * width * width + 2 * width * z.inner + 2 * z.steps * width), 0


OF = {
    "mlp": lambda z: (z.inputs * z.hidden + z.hidden * z.hidden + z.hidden * z.classes, z.inputs * z.hidden),
    "lenet": lambda z: (z.side ** 2 * z.channels * 25 + (z.side // 2) ** 2 * 2 * z.channels * 25 * z.channels
                        + (z.side // 4) ** 2 * 2 * z.channels * z.hidden + z.hidden * z.classes, z.side ** 2 * z.channels * 25),
    "alexnet": alexnet,
    "resnet50": resnet50,
    "lstm": lambda z: (z.steps * (2 * 2 * z.units * 4 * z.units + z.units * z.words), 0),
    "transformer": transformer,
    "widedeep": lambda z: (z.tables * z.width * z.hidden + z.hidden * z.last + z.last, 0),
    "bert": lambda z: (12 * layer(z.steps, z.heads * z.head), 0),
    "vit": vit,
    "unet": unet,
    "conv3d": conv3d,
}
