#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes thalweg/compute/ew/*_tables.inc: Chebyshev coefficients of special functions.

Needs mpmath. Each function is split into pieces on which, after a change of variable and with a
known factor taken out, it is smooth; each piece becomes a Chebyshev series whose first dropped
coefficient is below 2^-57 of the largest.

    tools/special_tables.py thalweg/compute/ew && clang-format-14 -i thalweg/compute/ew/*_tables.inc
"""
import contextlib
import io
import sys

import mpmath as mp

mp.mp.dps = 40


def chebyshev(f, low, high, most=60):
    """The coefficients of f on [low, high], as few as double precision needs."""
    n = 2 * most
    nodes = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / n) for k in range(n)]
    values = [f((mp.mpf(low) + high) / 2 + (mp.mpf(high) - low) / 2 * t) for t in nodes]
    coefficients = []
    for j in range(most):
        total = mp.fsum(v * mp.cos(mp.pi * j * (k + mp.mpf(1) / 2) / n) for k, v in enumerate(values))
        coefficients.append(total * (1 if j == 0 else 2) / n)
    largest = max(abs(c) for c in coefficients)
    while len(coefficients) > 1 and abs(coefficients[-1]) < largest * mp.mpf(2) ** -57:
        coefficients.pop()
    assert len(coefficients) < most, "not smooth enough"
    for k in range(17):  # what the nodes did not see
        t = mp.mpf(2 * k) / 16 - 1
        x = (mp.mpf(low) + high) / 2 + (mp.mpf(high) - low) / 2 * t
        if x != 0:
            error = abs(mp.fsum(c * mp.cos(j * mp.acos(t)) for j, c in enumerate(coefficients)) - f(x))
            assert error < largest * mp.mpf(2) ** -52, f"wrong by {mp.nstr(error)} at {mp.nstr(x)}"
    return coefficients


def table(name, f, low, high, note):
    coefficients = chebyshev(f, low, high)
    print(f"// {note}")
    print(f"constexpr double k{name}[] = {{")
    for c in coefficients:
        print(f"    {float(c)!r},")
    print("};")


def besseli_tail(n):
    """sqrt(x) e^-x I_n(x) as a function of 8 / x."""
    def f(u):
        if u < mp.mpf(10) ** -12:
            return 1 / mp.sqrt(2 * mp.pi)
        x = 8 / u
        return mp.sqrt(x) * mp.exp(-x) * mp.besseli(n, x)
    return f


def besselk_near(n):
    """K_0(x) + log(x/2) I_0(x), and x (K_1(x) - log(x/2) I_1(x)), as functions of x^2."""
    def f(z):
        if z < mp.mpf(10) ** -25:
            return -mp.euler if n == 0 else mp.mpf(1)
        x = mp.sqrt(z)
        if n == 0:
            return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)
        return x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x))
    return f


def besselk_tail(n):
    """sqrt(x) e^x K_n(x) as a function of 2 / x."""
    def f(u):
        if u < mp.mpf(10) ** -12:
            return mp.sqrt(mp.pi / 2)
        x = 2 / u
        return mp.sqrt(x) * mp.exp(x) * mp.besselk(n, x)
    return f


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def dawson_near(z):
    return mp.mpf(1) if z < mp.mpf(10) ** -25 else dawson(mp.sqrt(z)) / mp.sqrt(z)


def dawson_tail(u):
    """2 x D(x) as a function of (c / x)^2."""
    if u < mp.mpf(10) ** -12:
        return mp.mpf(1)
    x = 5 / mp.sqrt(u)
    return 2 * x * dawson(x)


EI_ROOT = mp.findroot(mp.ei, 0.3725)


def ei_near(x):
    """(Ei(x) - log(x / root)) / (x - root)."""
    if abs(x - EI_ROOT) < mp.mpf(10) ** -14:
        x = EI_ROOT + mp.mpf(10) ** -14
    if x < mp.mpf(10) ** -25:
        return (mp.euler + mp.log(EI_ROOT)) / -EI_ROOT
    return (mp.ei(x) - mp.log(x / EI_ROOT)) / (x - EI_ROOT)


def ei_tail(low):
    """x e^-x Ei(x) as a function of low / x."""
    def f(u):
        if u < mp.mpf(10) ** -12:
            return mp.mpf(1)
        x = low / u
        return x * mp.exp(-x) * mp.ei(x)
    return f


def fresnel_near(f, power):
    """S(x) / x^3 or C(x) / x as a function of x^4."""
    limit = mp.pi / 6 if power == 3 else mp.mpf(1)
    def g(z):
        if z < mp.mpf(10) ** -25:
            return limit
        x = z ** (mp.mpf(1) / 4)
        return f(x) / x ** power
    return g


def fresnel_f(x):
    half = mp.mpf(1) / 2
    t = mp.pi / 2 * x * x
    return (half - mp.fresnels(x)) * mp.cos(t) - (half - mp.fresnelc(x)) * mp.sin(t)


def fresnel_g(x):
    half = mp.mpf(1) / 2
    t = mp.pi / 2 * x * x
    return (half - mp.fresnels(x)) * mp.sin(t) + (half - mp.fresnelc(x)) * mp.cos(t)


def fresnel_tail(f, power, limit, low):
    """pi x f(x), or pi^2 x^3 g(x), as a function of (low / x)^4."""
    def h(u):
        if u < mp.mpf(10) ** -16:
            return limit
        x = low / u ** (mp.mpf(1) / 4)
        with mp.workdps(90):
            return mp.pi ** ((power + 1) // 2) * x ** power * f(x)
    return h


def spence_near(y):
    """Li2(y) / y."""
    return mp.mpf(1) if abs(y) < mp.mpf(10) ** -25 else mp.re(mp.polylog(2, y)) / y


def erfinv(x):
    with mp.workdps(60):
        return mp.erfinv(x)


def erfinv_near(z):
    """erfinv(x) / x as a function of x^2."""
    return mp.sqrt(mp.pi) / 2 if z < mp.mpf(10) ** -25 else erfinv(mp.sqrt(z)) / mp.sqrt(z)


def normal_tail(z):
    """w - z where w > 0 has the probability exp(-z^2 / 2) above it."""
    with mp.workdps(60):
        log_p = -z * z / 2
        w = z - mp.log(z * mp.sqrt(2 * mp.pi)) / z
        for _ in range(100):
            # Newton on the logarithm of the tail.
            q = mp.erfc(w / mp.sqrt(2)) / 2
            step = (mp.log(q) - log_p) * q * mp.sqrt(2 * mp.pi) * mp.exp(w * w / 2)
            w += step
            if abs(step) < mp.mpf(10) ** -50:
                break
        return w - z


def temme(k):
    """The first two functions of Temme's expansion of the incomplete gamma function, of eta / 0.15."""
    def f(eta):
        with mp.workdps(70):
            eta = mp.mpf(eta)
            mu = eta
            for _ in range(60):  # eta^2 / 2 = mu - log(1 + mu)
                mu -= (mu - mp.log1p(mu) - eta * eta / 2) * (1 + mu) / mu
            if k == 0:
                return 1 / mu - 1 / eta
            return 1 / eta**3 - 1 / mu**3 - 1 / mu**2 - 1 / (12 * mu)
    return f


def bessel_tables():
    for n in (0, 1):
        def near_x(x, n=n):
            if x < mp.mpf(10) ** -25:
                return mp.mpf(1) if n == 0 else mp.mpf(1) / 2
            return mp.exp(-x) * mp.besseli(n, x) / (x if n == 1 else 1)
        table(f"BesselI{n}Near", near_x, 0, 8, f"e^-x I{n}(x){' / x' if n else ''} of x in [0, 8]")
        table(f"BesselI{n}Far", besseli_tail(n), 0, 1, f"sqrt(x) e^-x I{n}(x) of 8 / x in [0, 1]")
    for n in (0, 1):
        what = "K0(x) + log(x / 2) I0(x)" if n == 0 else "x (K1(x) - log(x / 2) I1(x))"
        table(f"BesselK{n}Near", besselk_near(n), 0, 4, f"{what} of x^2 in [0, 4]")
        table(f"BesselK{n}Far", besselk_tail(n), 0, 1, f"sqrt(x) e^x K{n}(x) of 2 / x in [0, 1]")


def integral_tables():
    table("DawsonNear", dawson_near, 0, 1, "D(x) / x of x^2 in [0, 1]")
    table("DawsonMiddle", dawson, 1, 3, "D(x) of x in [1, 3]")
    table("DawsonUpper", dawson, 3, 5, "D(x) of x in [3, 5]")
    table("DawsonFar", dawson_tail, 0, 1, "2 x D(x) of (5 / x)^2 in [0, 1]")
    print("// The root of Ei in two parts.")
    high = float(EI_ROOT)
    print(f"constexpr double kEiRoot = {high!r};")
    print(f"constexpr double kEiRootLow = {float(EI_ROOT - mp.mpf(high))!r};")
    table("EiNear", ei_near, 0, 6, "(Ei(x) - log(x / root)) / (x - root) of x in [0, 6]")
    table("EiMiddle", lambda x: x * mp.exp(-x) * mp.ei(x), 6, 12, "x e^-x Ei(x) of x in [6, 12]")
    table("EiUpper", lambda x: x * mp.exp(-x) * mp.ei(x), 12, 24, "x e^-x Ei(x) of x in [12, 24]")
    table("EiHigh", lambda u: ei_tail(24)(u), mp.mpf(24) / 60, 1, "x e^-x Ei(x) of 24 / x in [0.4, 1]")
    table("EiFar", ei_tail(60), 0, 1, "x e^-x Ei(x) of 60 / x in [0, 1]")
    table("FresnelSNear", fresnel_near(mp.fresnels, 3), 0, mp.mpf(1.5) ** 4, "S(x) / x^3 of x^4 in [0, 1.5^4]")
    table("FresnelCNear", fresnel_near(mp.fresnelc, 1), 0, mp.mpf(1.5) ** 4, "C(x) / x of x^4 in [0, 1.5^4]")
    low = mp.mpf(3) / 2
    def finish(name, f, power, limit, what):
        table(f"{name}Middle", fresnel_tail(f, power, limit, low), mp.mpf(1) / 16, 1, f"{what} of (1.5 / x)^4 in [1/16, 1]")
        table(f"{name}Far", fresnel_tail(f, power, limit, 2 * low), 0, 1, f"{what} of (3 / x)^4 in [0, 1]")
    finish("FresnelF", fresnel_f, 1, mp.mpf(1), "pi x f(x)")
    finish("FresnelG", fresnel_g, 3, mp.mpf(1), "pi^2 x^3 g(x)")
    table("Dilogarithm", spence_near, -1, mp.mpf(1) / 2, "Li2(y) / y of y in [-1, 1/2]")


def inverse_tables():
    table("ErfinvNear", erfinv_near, 0, mp.mpf(1) / 2, "erfinv(x) / x of x^2 in [0, 1/2]")
    for name, a, b in (("1", 1, 2), ("2", 2, 4), ("3", 4, 10), ("4", 10, 40)):
        table(f"NormalTail{name}", normal_tail, a, b,
              f"w - z of z in [{a}, {b}], where exp(-z^2 / 2) is the probability above w")
    for k in (0, 1):
        table(f"Temme{k}", temme(k), -0.15, 0.15, f"Temme's C{k}(eta) of eta in [-0.15, 0.15]")


def main():
    for name, write in (("bessel", bessel_tables), ("integral", integral_tables), ("inverse", inverse_tables)):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            write()
        with open(f"{sys.argv[1]}/{name}_tables.inc", "w") as f:
            f.write("// SPDX-License-Identifier: Apache-2.0\n"
                    "// Written by tools/special_tables.py: Chebyshev coefficients. The note says of what.\n"
                    "#pragma once\n\nnamespace thalweg::compute {\nnamespace {\n\n" + text.getvalue() +
                    "\n}  // namespace\n}  // namespace thalweg::compute\n")


if __name__ == "__main__":
    main()
