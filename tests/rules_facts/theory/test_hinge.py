"""The hinge loss: its answers put back into the equations, its channel, its limits and its corners."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erf

from genlaws.rules_facts import Kernel, interpolation_threshold, solve
from genlaws.rules_facts.theory.channels import HingeChannel
from genlaws.rules_facts.theory.losses import hinge_loss
from genlaws.rules_facts.theory.proximal import ProximalChannel

# What the library promises of the undamped scaled residual, and what the independent round must confirm.
PROMISED = 1e-10
# Two exact routes differ by rounding: some hundred operations on numbers of order one.
ROUNDING = 1e-12
DIGITS = 22
# Central differences with relative step h: h² times a third derivative from the truncation, 1e-16/h from rounding.
STEP = 1e-5
DIFFERENCE_TOLERANCE = 1e-7
# A step of 1e-9 in α moves nothing by more than about 1e-9/|distance to the threshold|; half an error is the most.
HALF = 0.5 + 1e-15


def random_points(count, seed, alpha=(-1, 2), lam=(-6, 3)):
    rng = np.random.default_rng(seed)
    return {
        "sample_ratio": 10 ** rng.uniform(*alpha, count),
        "fact_fraction": rng.uniform(0, 1, count),
        "kernel": Kernel.from_angle(rng.uniform(0.02, np.pi / 2 - 0.02, count)),
        "regularization": 10 ** rng.uniform(*lam, count),
    }


def put_back(paper, solution, points, width_ratio=None):
    """Return the largest relative change of (m, τ, V) under one round of the equations, per point."""
    count = np.size(points["sample_ratio"])
    changes = np.empty(count)
    for i in range(count):
        state = paper.state(solution, i)
        again = paper.one_round(
            "hinge",
            points["sample_ratio"][i],
            points["fact_fraction"][i],
            points["kernel"][i].mu_1,
            points["kernel"][i].mu_star,
            points["regularization"][i],
            state,
            None if width_ratio is None else width_ratio[i],
        )
        changes[i] = max(abs(new / old - 1) for new, old in zip(again, state, strict=True))
    return changes


@pytest.mark.parametrize("loss", ["hinge", "square"])
def test_every_random_point_converges(loss):
    solution = solve(loss, **random_points(2000, seed=0))
    assert solution.converged.all()
    assert solution.residual.max() <= PROMISED
    for error in (solution.generalization_error, solution.memorization_error):
        assert ((error >= 0) & (error <= HALF)).all()


def test_answers_solve_the_equations(paper):
    points = random_points(150, seed=1)
    assert put_back(paper, solve("hinge", **points), points).max() <= PROMISED


def test_answers_at_finite_width_solve_the_equations(paper):
    points = random_points(100, seed=2, lam=(-4, 1))
    width_ratio = 10 ** np.random.default_rng(3).uniform(-1, 3, 100)
    solution = solve("hinge", **points, width_ratio=width_ratio)
    assert put_back(paper, solution, points, width_ratio).max() <= PROMISED


def test_fitted_answers_solve_the_limiting_equations(paper):
    points = random_points(100, seed=4) | {"regularization": 0.0}
    solution = solve("hinge", **points)
    assert (solution.memorization_error == 0).all()
    assert np.isinf(solution.response).all()
    for i in range(100):
        kernel = points["kernel"][i]
        state = paper.state(solution, i)[:2]
        again = paper.fitted_round(
            points["sample_ratio"][i], points["fact_fraction"][i], kernel.mu_1, kernel.mu_star, *state
        )
        assert again == pytest.approx(state, rel=PROMISED)


@pytest.mark.parametrize(
    ("alpha", "epsilon", "m", "q", "V"), [(1, 0.3, 0.5, 0.8, 0.7), (1, 0, 3, 9.5, 0.2), (1, 1, 0.1, 2, 5)]
)
def test_the_panels_of_the_paper_equations_agree_with_adaptive_quadrature(paper, alpha, epsilon, m, q, V):
    tau = np.sqrt(q - m * m)

    def margin(u):
        skew = 1 + (1 - epsilon) * erf(m / tau * u / np.sqrt(2 * q))
        return np.exp(-u * u / (2 * q)) / np.sqrt(2 * np.pi * q) * skew

    def pull(u):
        return 1.0 if u < 1 - V else (1 - u) / V if u < 1 else 0.0

    reach = 12 * np.sqrt(q)
    options = {"epsabs": 1e-14, "epsrel": 1e-13, "limit": 200}
    square = (
        quad(margin, -reach, 1 - V, points=[-tau, 0.0, tau], **options)[0]
        + quad(lambda u: margin(u) * pull(u) ** 2, 1 - V, 1, **options)[0]
    )
    slope = quad(margin, 1 - V, 1, **options)[0] / V
    field = quad(lambda u: np.exp(-u * u / (2 * tau**2)) * pull(u), -12 * tau, 1, points=[1 - V], **options)[0]
    field *= (1 - epsilon) * np.sqrt(2 / np.pi) / (tau * np.sqrt(2 * np.pi))
    assert paper.channel_averages("hinge", epsilon, m, tau, V) == pytest.approx((field, square, slope), abs=ROUNDING)


def channel_points(count=400, seed=5):
    rng = np.random.default_rng(seed)
    tau, V = 10 ** rng.uniform(-2, 1.5, count), 10 ** rng.uniform(-3, 2, count)
    m, delta = tau * 10 ** rng.uniform(-2, 2, count), rng.uniform(0, 1, count)
    return m, tau, V, delta


def test_closed_forms_agree_with_the_proximal_route():
    m, tau, V, delta = channel_points()
    closed, general = HingeChannel(), ProximalChannel(hinge_loss())
    np.testing.assert_allclose(closed.pull(tau, V, delta).value, general.pull(tau, V, delta).value, rtol=ROUNDING)
    mine, other = closed.moments(m, tau, V, delta), general.moments(m, tau, V, delta)
    # The proximal route forms (prox - u)/V from margins of size √q, which costs digits where V is much smaller.
    lost = 1e-15 * np.hypot(m, tau) / V
    assert (np.abs(mine.square - other.square) <= ROUNDING * mine.square + lost).all()
    assert (np.abs(mine.slope - other.slope) <= ROUNDING * mine.slope + lost / np.hypot(m, tau) + 1e-13).all()


def test_closed_forms_agree_with_the_paper_equations(paper):
    m, tau, V, delta = channel_points(200, seed=6)
    channel = HingeChannel()
    moments = channel.moments(m, tau, V, delta)
    found = np.stack([channel.pull(tau, V, delta).value, moments.square, moments.slope], axis=1)
    wanted = [paper.channel_averages("hinge", 1 - delta[i], m[i], tau[i], V[i]) for i in range(m.size)]
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("a", [0.0, 1e-8, 1e-2, 0.999999, 1.0, 7.0, 290.0, 2.2e3, 1e6])
def test_the_margin_constraint_has_its_digits_at_every_steepness(a):
    """Mass and square of the margins below one against many digits; a = m/τ is huge where nearly all is known."""
    b = np.array([0.02, 0.13, 0.7, 3.0, 20.0])
    tau = 1 / (b * np.hypot(1.0, a))
    found = HingeChannel(hard=True).moments(a * tau, tau, np.ones_like(b), np.ones_like(b))
    with mpmath.workdps(DIGITS):
        for i in range(b.size):
            end, steep = mpmath.mpf(b[i]), mpmath.mpf(a)
            cuts = [cut / steep for cut in (-12, -9, -6, -4, -2, 0, 2, 4, 6, 9, 12)] if a > 0.1 else []
            edges = sorted({mpmath.mpf(edge) for edge in [-14, -8, -4, -2, 0, 2, 4, 8, 14, *cuts] if edge < end})

            def density(z, steep=steep):
                return mpmath.npdf(z) * mpmath.erfc(-steep * z / mpmath.sqrt(2))

            def weighted(z, end=end, density=density):
                return (1 - z / end) ** 2 * density(z)

            mass, square = (
                mpmath.quad(function, [*edges, end], method="gauss-legendre") for function in (density, weighted)
            )
            assert found.slope[i] == pytest.approx(float(mass), rel=ROUNDING)
            assert found.square[i] == pytest.approx(float(square), rel=10 * ROUNDING)


@pytest.mark.parametrize("hard", [False, True])
def test_derivatives_agree_with_central_differences(hard):
    channel = HingeChannel(hard=hard)
    rng = np.random.default_rng(7)
    tau, V = 10 ** rng.uniform(-0.7, 1, 400), 10 ** rng.uniform(-2, 1.5, 400)
    m, delta = tau * 10 ** rng.uniform(-2, 1.5, 400), rng.uniform(0, 1, 400)

    def difference(function, step):
        return (function(step) - function(-step)) / (2 * step)

    pull = channel.pull(tau, V, delta)
    by_tau = difference(lambda s: channel.pull(tau + s, V, delta).value, STEP * tau)
    by_response = difference(lambda s: channel.pull(tau, V + s, delta).value, STEP * V)
    pairs = [(pull.by_tau, by_tau, pull.value / tau), (pull.by_response, by_response, pull.value / V)]
    now = channel.moments(m, tau, V, delta)
    moved = {
        # The averages change with m over the distance τ.
        "m": (tau, lambda s: channel.moments(m + s, tau, V, delta)),
        "tau": (tau, lambda s: channel.moments(m, tau + s, V, delta)),
        "response": (V, lambda s: channel.moments(m, tau, V + s, delta)),
    }
    for name, (unit, at) in moved.items():
        for part in ("square", "slope"):
            found = difference(lambda s, at=at, part=part: getattr(at(s), part), STEP * unit)
            pairs.append((getattr(now, f"{part}_by_{name}"), found, getattr(now, part) / unit))
    for exact, found, size in pairs:
        assert (np.abs(exact - found) <= DIFFERENCE_TOLERANCE * (np.abs(exact) + np.abs(size))).all()


@pytest.mark.parametrize("angle", [0.05, 0.7, 1.4, np.pi / 2])
@pytest.mark.parametrize("alpha", [0.3, 1.5, 2.9])
def test_small_regularization_joins_its_limit(angle, alpha):
    # While every label is fitted λV is finite, so at λ = 1e-9 no margin lies below 1 - V ≈ -1e9 and the two systems
    # are the same to rounding, not only up to O(λ).
    arguments = {"sample_ratio": alpha, "fact_fraction": 0.2, "kernel": Kernel.from_angle(angle)}
    small, limit = (solve("hinge", regularization=lam, **arguments) for lam in (1e-9, 0.0))
    assert small.generalization_error == pytest.approx(limit.generalization_error, rel=1e-11)
    assert small.memorization_error == limit.memorization_error == 0.0
    assert small.teacher_overlap == pytest.approx(limit.teacher_overlap, rel=1e-9)
    assert small.self_overlap == pytest.approx(limit.self_overlap, rel=1e-9)


@pytest.mark.parametrize("alpha", [3.5, 10.0, 100.0])
def test_small_regularization_joins_its_limit_beyond_the_threshold(alpha):
    # The linear model can no longer fit: V stays finite and the difference is O(λ), with a constant of order
    # 1/(α - α_c).
    limit = solve("hinge", sample_ratio=alpha, fact_fraction=0.2, regularization=0.0)
    small = [solve("hinge", sample_ratio=alpha, fact_fraction=0.2, regularization=lam) for lam in (1e-9, 1e-5, 1e-4)]
    change = [abs(each.generalization_error - limit.generalization_error) for each in small]
    assert change[0] < 1e-8
    assert change[2] / change[1] == pytest.approx(10, rel=0.05)
    assert 0 < limit.memorization_error < 0.5
    assert small[0].memorization_error == pytest.approx(limit.memorization_error, abs=1e-8)


ALPHAS = np.logspace(-3, 5, 25)
LAMBDAS = np.array([0.0, 1e-6, 1e-3, 1.0, 1e3, np.inf])


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.3, 1 - 1e-6, 1.0])
@pytest.mark.parametrize("angle", [1e-6, 0.02, 0.7, np.pi / 2])
@pytest.mark.parametrize("loss", ["hinge", "square"])
def test_corners_are_solved(loss, angle, epsilon, paper):
    alpha, lam = np.meshgrid(ALPHAS, LAMBDAS, indexing="ij")
    solution = solve(
        loss, sample_ratio=alpha, fact_fraction=epsilon, kernel=Kernel.from_angle(angle), regularization=lam
    )
    assert solution.converged.all()
    assert solution.residual.max() <= PROMISED
    assert np.isfinite(solution.generalization_error).all()
    assert ((solution.memorization_error >= 0) & (solution.memorization_error <= HALF)).all()
    if epsilon == 1.0:
        np.testing.assert_allclose(solution.generalization_error, 0.5, atol=1e-14)
    elif loss == "hinge":
        assert (solution.generalization_error < 0.5).all()
    else:
        # Exactly one sample per dimension without a ridge: the noise drowns the rule.
        at_threshold = (angle == np.pi / 2) & np.isclose(alpha, 1.0, rtol=1e-12) & (lam == 0)
        np.testing.assert_array_equal(solution.generalization_error == 0.5, at_threshold)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("angle", [0.02, 0.7, np.pi / 2])
def test_corners_solve_the_equations(epsilon, angle, paper):
    alpha, lam = (part.ravel() for part in np.meshgrid(ALPHAS[::4], LAMBDAS[1:5], indexing="ij"))
    kernel = Kernel.from_angle(np.full(alpha.size, angle))
    points = {"sample_ratio": alpha, "fact_fraction": np.full(alpha.size, epsilon), "kernel": kernel}
    points["regularization"] = lam
    solution = solve("hinge", **points)
    if epsilon == 1.0:
        # m is zero then and has no relative change.
        assert (solution.teacher_overlap == 0).all()
        for i in range(alpha.size):
            state = paper.state(solution, i)
            again = paper.one_round("hinge", alpha[i], 1.0, kernel[i].mu_1, kernel[i].mu_star, lam[i], state)
            assert again[1:] == pytest.approx(state[1:], rel=PROMISED)
        return
    assert put_back(paper, solution, points).max() <= PROMISED


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("loss", ["hinge", "square"])
def test_the_neighborhood_of_the_threshold_is_solved(loss, epsilon):
    critical = interpolation_threshold(loss, fact_fraction=epsilon)
    alpha = critical * (1 + np.array([-1e-3, -1e-6, -1e-9, 0.0, 1e-9, 1e-6, 1e-3]))
    solution = solve(loss, sample_ratio=alpha, fact_fraction=epsilon, regularization=0.0)
    assert solution.converged.all()
    assert solution.residual.max() <= PROMISED
    # Fitted up to the threshold, not beyond; the overlaps diverge at it, the errors are continuous.
    assert (solution.memorization_error[:4] == 0).all()
    assert np.isinf(solution.self_overlap[3])
    assert np.isinf(solution.response[:4]).all()
    assert np.isfinite(solution.response[4:]).all()
    assert (np.diff(solution.self_overlap[:4]) > 0).all()
    assert (np.diff(solution.self_overlap[3:]) < 0).all()
    np.testing.assert_allclose(
        solution.generalization_error[[2, 4]], solution.generalization_error[3], rtol=1e-3, atol=1e-4
    )


def test_a_pure_memorizer_still_follows_hebbs_rule():
    # As θ → 0 every training point stands alone: all of them are support vectors with the same pull, as at λ → ∞.
    tiny = solve("hinge", sample_ratio=4.0, fact_fraction=0.2, kernel=Kernel.from_angle(1e-6), regularization=0.0)
    hebb = solve("hinge", sample_ratio=4.0, fact_fraction=0.2, regularization=np.inf)
    assert tiny.generalization_error == pytest.approx(hebb.generalization_error, abs=1e-10)
    assert tiny.memorization_error == 0.0
