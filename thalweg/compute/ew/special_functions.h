// SPDX-License-Identifier: Apache-2.0
// Special functions of doubles, the bodies of special.h's loops. Private to compute/.
//
// Bessel functions, integrals and inverses are Chebyshev series (tools/special_tables.py); relative
// errors are a few 1e-16, measured in special_test.cc.
// Ownership: none; numbers.
// Threads: any; no state.
// Errors: none; NaN outside of a domain.
#pragma once

namespace thalweg::compute {

double BesselI0(double x);
double BesselI0e(double x);  // e^-|x| I0(x)
double BesselI1(double x);
double BesselI1e(double x);
double BesselJ0(double x);
double BesselJ1(double x);
double BesselK0(double x);
double BesselK0e(double x);  // e^x K0(x)
double BesselK1(double x);
double BesselK1e(double x);
double BesselY0(double x);
double BesselY1(double x);

double Dawsn(double x);
double Expint(double x);  // Ei, for x >= 0
double FresnelCos(double x);
double FresnelSin(double x);
double Spence(double x);  // the dilogarithm of 1 - x

double Erfinv(double x);
double Ndtri(double p);  // the inverse of the normal distribution function

double Igamma(double a, double x);
double IgammaGradA(double a, double x);  // its derivative by a
double Igammac(double a, double x);      // 1 - Igamma(a, x)
double Betainc(double a, double b, double x);
double PolygammaOf(double n, double x);
double Xlog1py(double x, double y);
double Zeta(double x, double q);  // Hurwitz
double DigammaOf(double x);

// log(gamma(x) / (sqrt(2 pi) x^(x - 1/2) e^-x)), for x > 0.
double LogGammaRatio(double x);
// x - log(1 + x), exact near 0, for x > -1.
double LogOvershoot(double x);

}  // namespace thalweg::compute
