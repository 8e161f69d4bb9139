"""Long computations report exactly the steps they announced, stop when cancelled, and leave no half-written files."""

import threading
from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the package torch")

from counted_steps import CountedSteps
from genlaws import relations, rules_facts
from genlaws.core.errors import InputError, StoppedError
from genlaws.core.running import Running, checked_running
from genlaws.ensembles import Checkpoint
from genlaws.figures import draw_figures, get_figure
from genlaws.models.capture import capture_texts
from genlaws.models.stream import Stream
from genlaws.probes.asking import ask
from genlaws.probes.encoders.stimuli import EmbeddingStimuli
from genlaws.probes.layers.embeddings import measure_layers
from genlaws.probes.plan import plan_probe
from genlaws.probes.probe import run_probe
from genlaws.probes.simulated import SimulatedModel
from genlaws.probes.stream.semanticity import measure_stream
from genlaws.report.document import whole_report
from genlaws.residual_stream.analysis import analyze_stream
from genlaws.residual_stream.dynamics.compression import compress
from genlaws.residual_stream.dynamics.lyapunov import lyapunov
from genlaws.residual_stream.dynamics.perturbation import perturb
from genlaws.rules_facts.networks.two_layer import train_two_layer
from genlaws.semanticity.measurement.measure import measure
from genlaws.semanticity.networks.relu import train_relu_networks
from genlaws.semanticity.networks.slots import train_slot_networks
from genlaws.sweeps import Axis, Processes, Store, compute_sweep, get_experiment, make_sweep, run_sweep
from linear_streams import LinearStream, random_matrices
from small_families import FAMILIES
from small_tokenizer import small_tokenizer

COUNT, SITES, WIDTH = 12, 3, 4
TOKENS = [[1, 2], [3], [4, 5, 6]]
RANDOM = np.random.default_rng(0)
ROWS, STATES = RANDOM.normal(size=(60, 5)), RANDOM.normal(size=(COUNT, SITES, WIDTH)).cumsum(axis=1)
LINE = EmbeddingStimuli("line", "text", tuple(map(str, range(COUNT))), np.arange(float(COUNT)))
PILOT = {
    "train_fractions": (0.001, 0.5, 0.8),
    "ratios": (0.3, 3.0),
    "networks": 2,
    "ratio_networks": 2,
    "bound_repeats": 2,
    "steps": 20,
    "width": 4,
}
SWEEP = make_sweep(get_experiment("rules-facts.samples"), {"points": 3}, [Axis("fact_fraction", (0.1, 0.2, 0.3))])
NETWORK = {"width": 4, "depth": 1}
MEASURED = {"representation": ROWS, "positions": np.arange(60.0), "metric": "euclidean", "fronts": False}
SLOTS = {"slots": 3, "ring_size": 5, "width": 4, "seeds": [0], "steps": 6, "batch_size": 16, "stimulus_count": 20}


class OneLayer:
    """An encoder whose only layer is the states of the first site."""

    name, layers = "one layer", ("first",)

    def embed(self, stimuli):
        return {"first": STATES[:, 0]}


def probe(running):
    plan = plan_probe("years", [2], 5, seed=1)
    chooser = SimulatedModel(plan.domain, resolution=30.0)
    chooser.register(plan.trials, plan.prompts())
    return run_probe(chooser, plan, shapes=["exponential"], replicates=20, running=running)


def prompts(running):
    plan = plan_probe("years", [2], 5, seed=1)
    chooser = SimulatedModel(plan.domain, resolution=30.0)
    chooser.register(plan.trials, plan.prompts())
    return ask(chooser, plan.prompts(), "text", batch_size=2, running=running)


QUESTIONS = {
    "advise": partial(rules_facts.advise, ROWS, np.sign(ROWS[:, 0]), parameters=[0.5, 1.0]),
    "measure": partial(measure, **MEASURED),
    "measure batches": partial(measure, **MEASURED, memory=30_000 / 2**30, batch_size=6, precision=0.4),
    "bound_curve": partial(relations.bound_curve, relations.less_than(4), train_fraction=[0.2, 0.8], repeats=2),
    "data_needed": partial(relations.data_needed, relations.less_than(4), repeats=2),
    "query_curve": partial(relations.query_curve, relations.less_than(3), repeats=2),
    "advise_relation": partial(relations.advise_relation, "bipartite-4-4", **PILOT),
    "phase_diagram": partial(relations.phase_diagram, "mod3", grid=2, seeds=2, steps=4, **NETWORK),
    "learn_relation": partial(relations.learn_relation, "mod3", steps=6, stop_at=0.0, **NETWORK),
    "relu networks": partial(train_relu_networks, stimulus_count=10, seeds=[0], steps=6, log_every=2, batch_size=4),
    "slot networks": partial(train_slot_networks, **SLOTS),
    "two-layer networks": partial(
        train_two_layer, dimension=4, sample_ratio=2.0, fact_fraction=0.2, width=4, seeds=[0], steps=6, test_count=5
    ),
    "analyze_stream": partial(
        analyze_stream, Stream.from_states(STATES), measures=["paths", "rotations", "compression"], surrogates=[]
    ),
    "lyapunov": partial(lyapunov, LinearStream(random_matrices(4, 4, 0)), TOKENS, "0.mlp", seed=0),
    "perturb": partial(perturb, LinearStream(random_matrices(4, 4, 0)), TOKENS, seed=0),
    "compress": partial(compress, Stream.from_states(STATES), layers=2, epochs=9, patience=1, restarts=2, seed=0),
    "capture_texts": partial(capture_texts, FAMILIES["llama"].build(), small_tokenizer("[B] $A"), ["w3 w4", "w5"]),
    "measure_layers": partial(measure_layers, OneLayer(), stimuli=LINE, fronts=False),
    "measure_stream": partial(measure_stream, Stream.from_states(STATES), LINE, fronts=False),
    "run_probe": probe,
    "ask": prompts,
    "figure": partial(get_figure("rules-facts.6").data, {"points": 3}),
    "compute_sweep": partial(compute_sweep, SWEEP),
}
RESUMING = ("figure", "phase_diagram")  # they use jobs and a folder


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_the_steps_that_were_announced_are_done(question):
    steps = CountedSteps()
    question(running=steps.running)
    steps.check_complete()


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_cancelled_question_stops_at_the_next_step(question):
    steps = CountedSteps(most=1)
    with pytest.raises(StoppedError, match="cancelled"):
        question(running=steps.running)
    assert steps.done - steps.reported[-1][-1] < 1
    with pytest.raises(StoppedError):  # and does not begin again
        question(running=steps.running)


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name not in RESUMING])
def test_means_that_a_question_has_no_use_for_are_refused(name, tmp_path):
    for running, means in ((Running(jobs=2), "jobs"), (Running(folder=tmp_path), "folder")):
        with pytest.raises(InputError, match=f"running must leave out {means}"):
            QUESTIONS[name](running=running)
    with pytest.raises(InputError, match="running must be a Running"):
        QUESTIONS[name](running=CountedSteps())


def test_another_thread_can_stop_the_work():
    running, seen = Running(), []

    def work():
        try:
            while True:
                running.advance()
        except StoppedError:
            seen.append("stopped")

    thread = threading.Thread(target=work)
    thread.start()
    running.cancel()
    thread.join(timeout=10)
    assert seen == ["stopped"]


def test_a_part_counts_its_steps_without_announcing_them():
    steps = CountedSteps()
    whole = Running(steps, jobs=3, folder="cells")
    whole.start(5, "steps")
    part = whole.part()
    part.start(2, "steps of a part")
    part.advance(2)
    whole.advance(3)
    steps.check_complete()
    assert checked_running(part) is part  # jobs and folder stay with the whole
    part.cancel()
    with pytest.raises(StoppedError):
        whole.check()


@pytest.mark.parametrize("jobs", [0, -1, 1.5, None, "2"])
def test_jobs_are_a_whole_number(jobs):
    with pytest.raises(InputError, match="jobs must be a whole number"):
        Running(jobs=jobs)


def test_a_stopped_capture_leaves_no_file(tmp_path):
    with pytest.raises(StoppedError):
        QUESTIONS["capture_texts"](to=tmp_path / "states.npy", batch_size=1, running=CountedSteps(most=1).running)
    assert not list(tmp_path.iterdir())


def test_a_figure_can_be_stopped():
    with pytest.raises(StoppedError):
        draw_figures("rules-facts.6", settings={"points": 3}, running=CountedSteps(most=1).running)


@pytest.mark.parametrize("engine", [None, Processes(2)], ids=["here", "processes"])
def test_a_stopped_sweep_goes_on_where_it_was(engine, tmp_path):
    with pytest.raises(StoppedError):
        run_sweep(SWEEP, folder=tmp_path / "stopped", engine=engine, running=CountedSteps(most=2).running)
    steps = CountedSteps()
    report = run_sweep(SWEEP, folder=tmp_path / "stopped", running=steps.running)
    steps.check_complete()
    assert (report.computed, report.reused) == (1, 2)
    run_sweep(SWEEP, folder=tmp_path / "unbroken")
    with Store(tmp_path / "stopped") as stopped, Store(tmp_path / "unbroken") as unbroken:
        assert stopped.to_xarray().identical(unbroken.to_xarray())


def test_a_stopped_training_goes_on_from_its_checkpoint(tmp_path):
    checkpoint, train = Checkpoint(tmp_path / "training.npz", every=2), QUESTIONS["slot networks"]
    with pytest.raises(StoppedError):
        train(checkpoint=checkpoint, running=CountedSteps(most=4).running)
    steps = CountedSteps()
    resumed = train(checkpoint=checkpoint, running=steps.running)
    steps.check_complete()
    assert steps.reported[0][0] == 4  # as much as was saved
    assert np.array_equal(resumed.maps, train().maps)


def test_a_report_shows_the_steps_of_each_section(monkeypatch):
    def section(running, *_, **__):
        running.start(2, "a section")
        running.advance(2)

    kinds = ("semanticity", "rules_facts", "relations", "residual_stream")
    for kind in kinds:
        monkeypatch.setattr(f"genlaws.report.document.{kind}_section", section)
    steps = CountedSteps()
    whole_report(running=steps.running, quick=True)
    steps.check_complete()
    assert steps.totals == [2] * len(kinds)
