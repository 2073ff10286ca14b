# SPDX-License-Identifier: Apache-2.0
"""zfit 0.3.6, which derives its parameters from ResourceVariable and switches shapes to plain sizes: a fit of a Gaussian, and the
likelihood of a sum. Its Minuit needs an iminuit that Python 3.11 cannot build; it minimizes by SciPy here."""
import pytest

PROGRAM = """
    import numpy as np
    import zfit
    numbers = np.random.RandomState(0).normal(1.2, 0.7, 1000)
    x = zfit.Space("x", limits=(-5, 5))
    mu, sigma = zfit.Parameter("mu", 0.5, -3, 3), zfit.Parameter("sigma", 1.0, 0.1, 5)
    gauss = zfit.pdf.Gauss(mu=mu, sigma=sigma, obs=x)
    data = zfit.Data.from_numpy(obs=x, array=numbers)
    loss = zfit.loss.UnbinnedNLL(model=[gauss], data=[data])
    result = zfit.minimize.ScipyMinimizer(verbosity=0).minimize(loss)
    assert result.converged
    found = zfit.run([mu, sigma])
    rate, share = zfit.Parameter("rate", -1.0, -3.0, -0.01), zfit.Parameter("share", 0.5, 0.0, 1.0)
    both = zfit.pdf.SumPDF([gauss, zfit.pdf.Exponential(rate, obs=x)], fracs=share)
    more = zfit.run(zfit.loss.UnbinnedNLL(model=[both], data=[data]).value())
    print(100 * found[0] + 10 * found[1] + result.fmin + more)
"""


def test_a_fit_ends_where_it_did_with_tensorflow(last_number):
    mu, sigma, least, sum_of_two = 1.1683204, 0.6909234, 1049.21193, 1726.00261
    assert last_number(PROGRAM) == pytest.approx(100 * mu + 10 * sigma + least + sum_of_two, rel=1e-6)
