# SPDX-License-Identifier: Apache-2.0
"""mtcnn 0.1.0 with the weights that it brings: three nets in a row find the face in a photograph that matplotlib brings."""
import pytest

PROGRAM = """
    import matplotlib.cbook
    import numpy as np
    from PIL import Image
    from mtcnn import MTCNN
    with matplotlib.cbook.get_sample_data("grace_hopper.jpg") as file:
        image = np.array(Image.open(file).resize((256, 300)))
    (face,) = MTCNN(min_face_size=60).detect_faces(image)
    assert face["confidence"] > 0.99, face
    left, top, width, height = face["box"]
    x, y = face["keypoints"]["nose"]
    assert left < x < left + width and top < y < top + height, face
    print(width / height)
"""


def test_a_face_is_found(last_number):
    assert last_number(PROGRAM) == pytest.approx(0.8, abs=0.2)  # a face is somewhat higher than wide
