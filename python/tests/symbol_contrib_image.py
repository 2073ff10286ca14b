# SPDX-License-Identifier: Apache-2.0
"""Cases of tf.contrib.image. See symbol_cases.py."""
import numpy as np
from symbol_cases import case, numbers, shows

MAP = [1.1, .2, .3, .1, 0.9, -.6, .007, .008]
COMPONENTS = [[[1, 1, 0], [0, 1, 2], [2, 0, 2]], [[3, 3, 3], [0, 0, 0], [3, 3, 3]]]


def with_slopes(tf, y, *xs):
    """y and the gradients of the sum of its squares."""
    return [y, *tf.gradients(y * y, list(xs))]


def unlike(*shape, start=0.0):
    """Numbers between 0 and 1 that no pattern joins."""
    return np.modf(np.abs(numbers(*shape, start=start)) * 917)[0].astype(np.float32)


@case
def contrib__image__transform(tf):
    transform, given = tf.contrib.image.transform, unlike(2, 4, 5, 3)
    images = tf.constant(given)
    integers = [transform(tf.cast(images * 200, t), MAP, "BILINEAR") for t in (tf.uint8, tf.int32, tf.int64)]
    return [*with_slopes(tf, transform(images, [MAP, MAP[::-1]], "BILINEAR"), images),
            *with_slopes(tf, transform(images, MAP, output_shape=[3, 7]), images), *integers, transform(given[0], MAP), transform(given[0, ..., 0], MAP),
            transform(tf.cast(images, tf.float64), MAP, "BILINEAR"), str(transform(images, MAP).shape.as_list())]


@shows("contrib.image.angles_to_projective_transforms")
def contrib__image__rotate(tf):
    rotate, given = tf.contrib.image.rotate, unlike(2, 4, 5, 3)
    images = tf.constant(given)
    return [rotate(images, 0.3), rotate(given[0], -1.0), *with_slopes(tf, rotate(given[0, ..., 1], 0.5, "BILINEAR")),
            *with_slopes(tf, rotate(images, [0.4, 2.0], "BILINEAR"), images), tf.contrib.image.angles_to_projective_transforms([0.1, 2], 4, 6),
            tf.contrib.image.angles_to_projective_transforms(0.1, 4.0, 6.0)]


@shows("contrib.image.translations_to_projective_transforms")
def contrib__image__translate(tf):
    translate, given = tf.contrib.image.translate, unlike(2, 4, 5, 3)
    images = tf.constant(given)
    return [translate(images, [1, 2]), translate(given[0, ..., 1], [0.75, -1.25], "BILINEAR"),
            *with_slopes(tf, translate(images, [[0.5, 1.0], [-1.0, 0.25]], "BILINEAR"), images),
            tf.contrib.image.translations_to_projective_transforms([[1.0, 2.0], [3.0, 4.0]]),
            tf.contrib.image.translations_to_projective_transforms([1.0, 2.0])]


@shows("contrib.image.flat_transforms_to_matrices contrib.image.matrices_to_flat_transforms")
def contrib__image__compose_transforms(tf):
    m = tf.contrib.image
    back = m.matrices_to_flat_transforms(tf.constant(numbers(2, 3, 3, start=1)))
    return [m.compose_transforms(MAP), m.compose_transforms([MAP, MAP[::-1]], [1.0, 0, 5, 0, 1, 6, 0, 0]),
            m.flat_transforms_to_matrices(MAP), m.flat_transforms_to_matrices([MAP, MAP]), back,
            m.matrices_to_flat_transforms(tf.constant(numbers(3, 3)))]


@case
def contrib__image__bipartite_match(tf):
    match, distances = tf.contrib.image.bipartite_match, unlike(5, 7)
    found = [match(distances, *a, **k) for a, k in (((-1,), {}), (([3.0],), {}), ((-1,), {"top_k": 2}), ((1.9,), {}), ((0,), {"top_k": 0}))]
    return [str(found[0].row_to_col_match_indices.shape.as_list()), *found[0]._fields, *[part for both in found for part in both],
            *match(np.zeros([0, 3], np.float32), -1), *match(np.array([[np.inf, .1], [.2, np.inf]], np.float32), -1)]


@case
def contrib__image__connected_components(tf):
    found, given = tf.contrib.image.connected_components, np.array(COMPONENTS)
    return [*[found(tf.cast(given, t)) for t in (tf.int64, tf.int32, tf.uint8, tf.int8, tf.int16, tf.uint16, tf.float16, tf.float32, tf.float64, tf.bool)],
            found(given[0]), found(np.array([["a", "a", ""], ["b", "", "b"]])), found(np.floor(unlike(3, 9, 8) * 2)), found(np.full([2, 2], np.nan))]


@case
def contrib__image__dense_image_warp(tf):
    warp = tf.contrib.image.dense_image_warp
    image, flow = tf.constant(unlike(2, 5, 6, 3)), tf.constant((unlike(2, 5, 6, 2, start=2) - 0.5) * 6)
    made = warp(image, flow)
    return [str(made.shape.as_list()), *with_slopes(tf, made, image, flow), warp(tf.cast(image, tf.float64), tf.cast(flow, tf.float64))]


@case
def contrib__image__interpolate_spline(tf):
    spline = tf.contrib.image.interpolate_spline
    points, values, wanted = (tf.constant(unlike(2, *shape, start=start)) for start, shape in enumerate([(6, 2), (6, 3), (4, 2)]))
    made = [spline(points, values, wanted, order) for order in (1, 2, 3, 4)]
    return [str(made[0].shape.as_list()), *made, *with_slopes(tf, spline(points, values, wanted, 1), points, values, wanted),
            spline(points, values, wanted, 2, regularization_weight=0.1), spline(points[..., :1], values, wanted[..., :1], 3, 0.5)]


@case
def contrib__image__sparse_image_warp(tf):
    warp, image = tf.contrib.image.sparse_image_warp, tf.constant(unlike(1, 6, 7, 2))
    source = tf.constant([[[1.0, 1], [2, 4], [4, 5]]])
    target = tf.constant([[[1.0, 2], [2, 3], [4, 4]]])
    made = [warp(image, source, target, interpolation_order=o, regularization_weight=w, num_boundary_points=n)
            for o, w, n in ((2, 0.0, 1), (2, 0.0, 3), (1, 0.5, 1), (1, 0.0, 2))]
    bent, _ = warp(image, source + [0.3, 0.4], target, 2, 0.5, 1)  # no pixel is moved to another: there slopes jump
    return [str(made[0][0].shape.as_list()), str(made[0][1].shape.as_list()), *[part for warped, flow in made for part in (warped, flow + 1)], *with_slopes(tf, bent * 0.2, image, source)]


def distortions(tf):
    if tf.__name__ == "thalweg":
        from thalweg.contrib.image import distort_image_ops
        return distort_image_ops
    from tensorflow.contrib.image.python.ops import distort_image_ops
    return distort_image_ops


@case
def contrib__image__python__ops__distort_image_ops__adjust_hsv_in_yiq(tf):
    adjust, image = distortions(tf).adjust_hsv_in_yiq, tf.constant(unlike(2, 4, 5, 3))
    return [adjust(image), adjust(image, 0.3, 1.2, 0.9), adjust(image, -2.5, 0, 1.5), adjust(tf.cast(image * 200, tf.uint8), 0.5, 0.5, 1.1),
            adjust(tf.cast(image, tf.float64), 1.0)]


@case
def contrib__image__python__ops__distort_image_ops__random_hsv_in_yiq(tf):
    random, image = distortions(tf).random_hsv_in_yiq, tf.constant(unlike(2, 4, 5, 3))
    tf.set_random_seed(4)
    return [random(image, 0.3, 0.5, 1.5, 0.4, 1.2, seed=7), random(image), random(image, lower_value=0.5, seed=2)]
