"""One contract for every loss, the built-in ones and a user's own."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import wrightomega

from genlaws.core.errors import InputError
from genlaws.rules_facts import LOSSES, Kernel, Loss, huber_loss, solve
from genlaws.rules_facts.theory.losses import get_loss
from genlaws.rules_facts.theory.proximal import ProximalChannel

# What the library promises of a solution, confirmed by an independent round.
PROMISED = 1e-10
# A minimizer found from values alone is known to the root of the rounding of those values.
MINIMIZER = 1e-6
ROUNDING = 1e-12
POINTS = [(0.5, 0.2, 0.7, 0.1), (3.0, 0.0, 1.2, 0.01), (3.0, 0.6, 0.3, 5.0), (30.0, 0.3, 0.9, 1.0)]


@pytest.fixture(params=LOSSES)
def loss(request):
    return LOSSES[request.param]()


def margins_and_responses():
    u, V = np.meshgrid(np.linspace(-12.3, 9.7, 23), np.logspace(-3, 3, 13), indexing="ij")
    return u, V


def test_names_and_defaults(loss):
    assert LOSSES[loss.name]().slope == loss.slope
    assert loss.limit in ("label", "margin", "direction")
    assert loss.slope > 0


def test_the_proximal_map_is_the_minimizer(loss):
    u, V = (part[::3, ::3].ravel() for part in margins_and_responses())
    found = loss.proximal(u, V)
    for i in range(u.size):

        def objective(z, u=u[i], V=V[i]):
            return (z - u) ** 2 / (2 * V) + float(loss.value(np.array(z)))

        bracket = u[i] - 2 * V[i] * (1 + abs(u[i])) - 1, u[i] + 2 * V[i] * (1 + abs(u[i])) + 1
        wanted = minimize_scalar(objective, bounds=bracket, method="bounded", options={"xatol": 1e-9})
        assert objective(found[i]) <= wanted.fun + ROUNDING * (1 + abs(wanted.fun))
        assert found[i] == pytest.approx(wanted.x, abs=MINIMIZER * (1 + abs(u[i])) * np.sqrt(1 + V[i]))


def test_the_proximal_map_is_increasing_and_does_not_expand(loss):
    u, V = margins_and_responses()
    step = np.diff(loss.proximal(u, V), axis=0)
    assert (step >= -ROUNDING).all()
    assert (step <= np.diff(u, axis=0) * (1 + ROUNDING)).all()


def test_the_proximal_map_keeps_shapes(loss):
    assert loss.proximal(np.zeros((4, 1)), np.ones(3)).shape == (4, 3)
    assert loss.proximal(np.zeros((2, 3)), np.ones((2, 1))).shape == (2, 3)


def test_the_slope_is_that_of_the_value(loss):
    step = 1e-6
    slope = (loss.value(np.array(-step)) - loss.value(np.array(step))) / (2 * step)
    assert loss.slope == pytest.approx(slope, rel=1e-8)
    # The defining property: prox(-sV, V) = 0.
    V = np.logspace(-3, 3, 7)
    np.testing.assert_allclose(loss.proximal(-loss.slope * V, V), 0.0, atol=ROUNDING * 1e3)


def test_the_slope_is_found_from_the_proximal_map(loss):
    assert Loss("same", loss.proximal).slope == pytest.approx(loss.slope, rel=ROUNDING)


def test_the_map_bends_only_where_it_says(loss):
    # Between two kinks the map is smooth: a fifth difference on a fine grid is rounding, across a kink it is not.
    # The breakpoints of the logistic loss are only cuts.
    if loss.name == "logistic":
        return
    V = 0.8
    kinks = sorted(float(kink[0]) for kink in loss.breakpoints(np.array([V])))
    for low, high in zip([-6.0, *kinks], [*kinks, 6.0], strict=True):
        u = np.linspace(low, high, 21)
        assert np.abs(np.diff(loss.proximal(u, np.full(21, V)), n=2)).max() < 1e-13


def test_small_response_is_one_gradient_step(loss):
    u = np.array([-3.0, -0.4, 0.3, 0.95])
    V = 1e-6
    gradient = (loss.value(u + 1e-6) - loss.value(u - 1e-6)) / 2e-6
    np.testing.assert_allclose((loss.proximal(u, np.full(4, V)) - u) / V, -gradient, atol=1e-5)


def test_strong_regularization_is_the_same_for_every_loss(loss):
    # Corrections are of order (α + 1)/λ.
    arguments = {"sample_ratio": np.array([0.3, 4.0]), "fact_fraction": 0.3, "kernel": Kernel.from_angle(0.8)}
    limit = solve(loss, regularization=np.inf, **arguments)
    hebb = solve("square", regularization=np.inf, **arguments)
    strong = solve(loss, regularization=1e8, **arguments)
    np.testing.assert_allclose(limit.generalization_error, hebb.generalization_error, rtol=ROUNDING)
    np.testing.assert_allclose(limit.memorization_error, hebb.memorization_error, rtol=ROUNDING)
    np.testing.assert_allclose(strong.generalization_error, limit.generalization_error, atol=1e-7)
    np.testing.assert_allclose(strong.memorization_error, limit.memorization_error, atol=1e-7)


@pytest.mark.parametrize("kappa", [None, 1.7])
@pytest.mark.parametrize(("alpha", "epsilon", "angle", "lam"), POINTS)
def test_answers_solve_the_equations(loss, alpha, epsilon, angle, lam, kappa, paper):
    kernel = Kernel.from_angle(angle)
    found = solve(loss, sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=lam, width_ratio=kappa)
    state = paper.state(found)
    again = paper.one_round(loss.name, alpha, epsilon, kernel.mu_1, kernel.mu_star, lam, state, kappa)
    assert again == pytest.approx(state, rel=PROMISED)
    # A fact is remembered when the margin before training exceeds -sV.
    m, tau, V = state
    below = np.random.default_rng(0).normal(0, np.hypot(m, tau), 200_000)
    wrong = np.mean(loss.proximal(below, np.full_like(below, V)) < 0)
    assert found.memorization_error == pytest.approx(wrong, abs=5 * 0.5 / np.sqrt(below.size))


def test_random_points_all_converge(loss):
    rng = np.random.default_rng(1)
    count = 300 if loss.name == "logistic" else 1000
    found = solve(
        loss,
        sample_ratio=10 ** rng.uniform(-1, 2, count),
        fact_fraction=rng.uniform(0, 1, count),
        kernel=Kernel.from_angle(rng.uniform(0.02, np.pi / 2 - 0.02, count)),
        regularization=10 ** rng.uniform(-6, 3, count),
    )
    assert found.converged.all()
    assert found.residual.max() <= PROMISED


@pytest.mark.parametrize("alpha", [0.6, 2.0, 20.0])
@pytest.mark.parametrize("angle", [0.4, 1.1, np.pi / 2])
def test_weak_regularization_joins_zero(loss, angle, alpha):
    # Linear in λ, except for the logistic loss on data it can separate, whose weights grow like log 1/λ: there the
    # direction joins like 1/log(1/λ).
    arguments = {"sample_ratio": alpha, "fact_fraction": 0.2, "kernel": Kernel.from_angle(angle)}
    limit = solve(loss, regularization=0.0, **arguments)
    weak = solve(loss, regularization=1e-9, **arguments)
    slow = loss.limit == "direction" and np.isinf(limit.response)
    tolerance = 0.2 / np.log(1e9) if slow else 1e-7
    assert weak.generalization_error == pytest.approx(limit.generalization_error, abs=tolerance)
    assert weak.memorization_error == pytest.approx(limit.memorization_error, abs=1e-7)


def test_limits_at_zero_are_shared():
    arguments = {"sample_ratio": 3.0, "fact_fraction": 0.2, "kernel": Kernel.from_angle(0.9), "regularization": 0.0}
    errors = {name: solve(name, **arguments).generalization_error for name in LOSSES}
    assert errors["hinge"] == errors["squared_hinge"] == errors["logistic"]
    assert errors["square"] == errors["huber"]
    assert errors["hinge"] != errors["square"]


def test_a_wide_huber_loss_is_the_square_loss():
    arguments = {"sample_ratio": 3.0, "fact_fraction": 0.2, "kernel": Kernel.from_angle(0.9), "regularization": 0.1}
    wide, square = solve(huber_loss(1e3), **arguments), solve("square", **arguments)
    assert wide.generalization_error == pytest.approx(square.generalization_error, rel=1e-9)
    assert wide.memorization_error == pytest.approx(square.memorization_error, rel=1e-9)


def own_hinge():
    return Loss("mine", lambda u, V: np.where(u > 1, u, np.where(u < 1 - V, u + V, 1.0)), limit="margin")


@pytest.mark.parametrize("lam", [1e-3, 0.3, 30.0])
@pytest.mark.parametrize("kappa", [None, 2.0])
def test_a_users_hinge_agrees_with_the_built_in_one(lam, kappa):
    # Without breakpoints the kinks fall inside panels of Gauss nodes; that costs digits, which is why they exist.
    arguments = {"sample_ratio": [0.5, 4.0], "fact_fraction": 0.2, "kernel": Kernel.from_angle(0.8)}
    arguments |= {"regularization": lam, "width_ratio": kappa}
    mine, built_in = solve(own_hinge(), **arguments), solve("hinge", **arguments)
    np.testing.assert_allclose(mine.generalization_error, built_in.generalization_error, atol=1e-4)
    np.testing.assert_allclose(mine.memorization_error, built_in.memorization_error, atol=1e-3)
    cut = Loss("mine", own_hinge().proximal, breakpoints=lambda V: [1 - V, np.ones_like(V)])
    exact = solve(cut, **arguments)
    np.testing.assert_allclose(exact.generalization_error, built_in.generalization_error, rtol=1e-9)
    np.testing.assert_allclose(exact.memorization_error, built_in.memorization_error, rtol=1e-8, atol=1e-14)


def test_a_users_loss_has_every_door_open():
    mine = own_hinge()
    arguments = {"sample_ratio": 4.0, "fact_fraction": 0.2, "kernel": Kernel.from_angle(0.8)}
    for lam in (0.0, np.inf):
        mine_at, built_in = (solve(each, regularization=lam, **arguments) for each in (mine, "hinge"))
        assert mine_at.generalization_error == pytest.approx(built_in.generalization_error, rel=ROUNDING)
    best, built_in = (solve(each, regularization="optimal", **arguments) for each in (mine, "hinge"))
    assert best.generalization_error == pytest.approx(built_in.generalization_error, abs=1e-4)


@pytest.mark.parametrize(("alpha", "epsilon", "angle", "lam"), POINTS)
def test_the_exponential_loss_from_its_proximal_map_alone(alpha, epsilon, angle, lam, paper):
    exponential = Loss("exponential", lambda u, V: u + np.real(wrightomega(np.log(V) - u)))
    assert exponential.slope == pytest.approx(1.0, rel=ROUNDING)
    kernel = Kernel.from_angle(angle)
    found = solve(exponential, sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=lam)
    state = paper.state(found)
    again = paper.one_round("exponential", alpha, epsilon, kernel.mu_1, kernel.mu_star, lam, state)
    # No breakpoints: panels of 16 nodes on a map that changes slope within a distance of one.
    assert again == pytest.approx(state, rel=1e-8)


def test_an_unknown_limit_is_refused_at_zero():
    unknown = Loss("mine", own_hinge().proximal)
    with pytest.raises(InputError, match="regularization must be positive for the loss 'mine'"):
        solve(unknown, sample_ratio=1.0, fact_fraction=0.2, regularization=[0.0, 1.0])


WRONG_MAPS = {
    "nothing": None,
    "a number": 3.0,
    "text": "prox",
    "one argument": lambda u: u,
    "no array": lambda u, V: None,
    "words": lambda u, V: np.array(["a"]),
    "a constant": lambda u, V: np.zeros_like(u),
    "falling": lambda u, V: -u,
    "not a number": lambda u, V: u * np.nan,
    "pushed down": lambda u, V: u - V,
    "another shape": lambda u, V: np.zeros(3),
    "raises": lambda u, V: {}["missing"],
    "divides by zero": lambda u, V: 1 / 0,
    "deaf to the response": lambda u, V: u + 1.0,
    "expands": lambda u, V: 2.0 * u + V,
}


@pytest.mark.parametrize("proximal", WRONG_MAPS.values(), ids=WRONG_MAPS)
def test_wrong_proximal_maps_are_refused(proximal):
    with pytest.raises(InputError, match="wrong|proximal"):
        Loss("wrong", proximal)


def test_get_loss():
    assert get_loss("squared-hinge").name == "squared_hinge"
    mine = own_hinge()
    assert get_loss(mine) is mine


def test_forward_differences_of_the_proximal_route():
    channel = ProximalChannel(LOSSES["logistic"]())
    m, tau, V, delta = (np.array([value]) for value in (0.8, 0.6, 1.5, 0.7))
    now, step = channel.moments(m, tau, V, delta), 1e-4
    for name, moved in (
        ("m", lambda s: channel.moments(m + s, tau, V, delta)),
        ("tau", lambda s: channel.moments(m, tau + s, V, delta)),
        ("response", lambda s: channel.moments(m, tau, V + s, delta)),
    ):
        for part in ("square", "slope"):
            central = (getattr(moved(step), part) - getattr(moved(-step), part)) / (2 * step)
            assert getattr(now, f"{part}_by_{name}") == pytest.approx(central, abs=1e-6)
