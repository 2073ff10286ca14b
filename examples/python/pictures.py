# SPDX-License-Identifier: Apache-2.0
"""The handwritten digits as a folder of JPEGs: PART/CLASS/NUMBER.jpg, of 32x32 pixels.

    with pictures.of_digits() as folder:
        ...  # folder/train/7/12.jpg; removed at the end
"""
import contextlib
import os
import tempfile

import digits
import numpy as np
import thalweg as tw


@contextlib.contextmanager
def of_digits():
    train, _, test = digits.load()
    image = tw.placeholder(tw.uint8, [32, 32, 1])
    encoded = tw.image.encode_jpeg(image)
    with tempfile.TemporaryDirectory() as folder, tw.Session() as session:
        for name, part in (("train", train), ("test", test)):
            for number, (pixels, label) in enumerate(zip(part.images, part.labels)):
                os.makedirs(os.path.join(folder, name, str(label)), exist_ok=True)
                large = np.kron(pixels[:, :, 0] * 255, np.ones([4, 4])).astype(np.uint8)
                with open(os.path.join(folder, name, str(label), f"{number}.jpg"), "wb") as file:
                    file.write(session.run(encoded, {image: large[:, :, None]}))
        yield folder
