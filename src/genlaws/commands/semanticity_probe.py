"""``genlaws semanticity probe``: the resolution of a real model, its p_S and p_I, and how they fall with more items."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.commands.numbers import read_numbers
from genlaws.commands.output import DEFAULT_OUTPUT, Output, as_json
from genlaws.commands.semanticity_probe_options import (
    DEFAULT_HERE,
    DEFAULT_QUESTIONS,
    DEFAULT_REMOTE,
    Call,
    Here,
    Questions,
    Remote,
)
from genlaws.numerics.errors import ConvergenceError, InputError

if TYPE_CHECKING:
    from genlaws.semanticity.probes.models import ProbeModel, Prompt
    from genlaws.semanticity.probes.plan import Plan
    from genlaws.semanticity.probes.probe import ProbeResult
    from genlaws.semanticity.probes.store import ReplyStore

Model = Annotated[
    str,
    Parameter(
        help="A Hugging Face id on this machine, a folder, a .gguf file, smollm2 or minilm (packages), or with "
        "--server the name of a model there."
    ),
]
DryRun = Annotated[bool, Parameter(negative="", help="Show three prompts and how much would be asked; ask nothing.")]
SavePictures = Annotated[bool, Parameter(negative="", help="Write the pictures that are shown to --out.")]
ANSWERS = "answers.jsonl"
SHOWN = 3
NOT_SHARED = (
    "This model cannot go on from a prompt it has read, so the prompt is read again for each answer and each new word: "
    "the same numbers, in more time."
)


def probe(
    model: Model,
    /,
    *,
    questions: Questions = DEFAULT_QUESTIONS,
    here: Here = DEFAULT_HERE,
    remote: Remote = DEFAULT_REMOTE,
    dry_run: DryRun = False,
    save_pictures: SavePictures = False,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Probe a language or vision model: ask which item is nearest, and which one stands exactly there.

    With --out a folder is written: the page, the numbers, tables, and every answer as it came; asked again, the same
    command goes on where it stopped, and no answered prompt is asked twice.
    """
    call = Call(questions, here, remote, output)
    if call.mode == "embedding":
        from genlaws.commands.semanticity_probe_encoder import probe_encoder

        probe_encoder(model, call)
        return
    plans = _plans(questions, output.seed)
    if here.layers and (remote.server is not None or plans[0].pictures):
        raise InputError("layers are read from a language model on this machine; leave out --layers here.")
    if dry_run:
        _show_plan(plans, call)
        return
    from genlaws.commands.semanticity_probe_model import load_probe_model

    asked = load_probe_model(model, plans[0].pictures, call)
    if save_pictures:
        _save_pictures(plans[0], output)
    results = _ask(asked, plans, call)
    _refuse_or_tell_failures(results, call)
    layers = _layers(asked, plans, call) if here.layers else []
    _finish(model, results, layers, output)


def _plans(questions: Questions, seed: int) -> list[Plan]:
    from genlaws.semanticity.probes.plan import plan_probe

    names = [None] if questions.template is None else [name.strip() for name in questions.template.split(",")]
    plans = [
        plan_probe(
            questions.task,
            None if questions.items is None else _item_counts(questions.items),
            questions.trials,
            template=name,
            anchors=questions.anchors,
            half_separations=_numbers("half_separations", questions.half_separations),
            shifts=_numbers("shifts", questions.shifts),
            seed=seed,
        )
        for name in names
    ]
    found = [plan.template.name for plan in plans]
    if len(set(found)) < len(found):
        raise InputError(f"template must name different templates; got {', '.join(found)}.")
    return plans


def _numbers(name: str, text: str | None) -> Any:
    return None if text is None else read_numbers(name, text)


def _item_counts(text: str) -> tuple[int, ...]:
    import numpy as np

    given = np.atleast_1d(read_numbers("items", text))
    if (given % 1 != 0).any():
        raise InputError(f"items must be whole numbers such as 2,4,8,16; got {text!r}.")
    return tuple(int(n) for n in given)


def _show_plan(plans: list[Plan], call: Call) -> None:
    """Show three prompts and how much would be asked, without a model."""
    import json

    from genlaws.commands.semanticity_probe_words import plan_text
    from genlaws.semanticity.probes.simulated import SimulatedModel
    from genlaws.semanticity.probes.workload import workload_of

    nobody = SimulatedModel(None, 1.0)  # counts letters; nothing is asked of it
    longest = call.questions.max_tokens
    loads = [workload_of(nobody, plan.prompts(drawn=False), call.mode, longest_reply=longest) for plan in plans]
    shown = [
        {"template": plan.template.name, "kind": plan.trials[at].kind, "prompt": prompt.text, "chat": prompt.chat}
        | {"options": list(prompt.options), "right": plan.trials[at].items[plan.trials[at].right]}
        for plan in plans
        for at, prompt in zip(_three(plan), plan.prompts(_three(plan), drawn=False), strict=True)
    ]
    if call.output.json:
        told = [{"template": plan.template.name, **vars(load)} for plan, load in zip(plans, loads, strict=True)]
        print(json.dumps(as_json({"prompts": shown, "workload": told}), indent=2))
        return
    print(plan_text(shown, plans, loads, call.price))


def _three(plan: Plan) -> list[int]:
    """Return the first trial of each kind, and more of the first kind to make three."""
    kinds = [trial.kind for trial in plan.trials]
    firsts = [kinds.index(kind) for kind in dict.fromkeys(kinds)]
    others = [number for number in range(len(kinds)) if number not in firsts]
    return (firsts + others)[:SHOWN]


def _ask(asked: ProbeModel, plans: list[Plan], call: Call) -> list[ProbeResult]:
    from contextlib import ExitStack

    from genlaws.commands.progress import ProgressBar
    from genlaws.semanticity.probes.probe import run_probe
    from genlaws.semanticity.probes.store import ReplyStore

    folder = call.output.out
    with ExitStack() as stack:
        store = None if folder is None else stack.enter_context(ReplyStore(folder / ANSWERS))
        prompts = [plan.prompts() for plan in plans]
        if store is not None:
            _tell_what_is_kept(asked, store, call)
        _announce(asked, plans, prompts, call, store)
        bar = stack.enter_context(ProgressBar(quiet=call.output.json))
        results = []
        for plan, given in zip(plans, prompts, strict=True):
            bar.start(len(plan.trials), f"{plan.task}, {plan.template.name}")
            results.append(
                run_probe(
                    asked,
                    plan,
                    call.mode,
                    prompts=given,
                    store=store,
                    batch_size=call.here.batch_size,
                    advance=bar.advance,
                )
            )
        return results


def _tell_what_is_kept(asked: ProbeModel, store: ReplyStore, call: Call) -> None:
    """Say on standard error which kept answers are not used, and which cannot be checked."""
    from genlaws.commands.semanticity_probe_words import kept_text
    from genlaws.semanticity.probes.models import kept_name

    for sentence in kept_text(store.counts, kept_name(asked), at_server=call.remote.server is not None):
        print(f"{ANSWERS}: {sentence}", file=sys.stderr)


def _refuse_or_tell_failures(results: list[ProbeResult], call: Call) -> None:
    """Stop if no prompt was answered, before anything is written; else say beside JSON how many were not."""
    if all(one.rates.failed == len(one.plan.trials) for one in results):
        raise ConvergenceError(f"No prompt was answered, so there is no result. {results[0].rates.failure}", results)
    for one in results:
        if one.rates.failure and call.output.json:  # the text begins with it
            print(f"{one.plan.template.name}: {one.rates.failure}", file=sys.stderr)


def _announce(
    asked: ProbeModel, plans: list[Plan], prompts: list[list[Prompt]], call: Call, store: ReplyStore | None
) -> None:
    """Say on standard error how much will be asked, how long it may take and what it may cost."""
    from genlaws.commands.semanticity_probe_words import load_text
    from genlaws.semanticity.probes.workload import timed_workload

    longest = call.questions.max_tokens
    if not getattr(asked, "shared_prefix" if plans[0].pictures else "reads_text_once", True):
        print(NOT_SHARED, file=sys.stderr)
    for plan, given in zip(plans, prompts, strict=True):
        load = timed_workload(asked, given, call.mode, store=store, longest_reply=longest)
        print(f"{plan.template.name}: {load_text(load, call.price)}", file=sys.stderr)


def _layers(asked: Any, plans: list[Plan], call: Call) -> list[Any]:
    """Return the tests in each layer, for every template and two items."""
    from genlaws.commands.progress import ProgressBar
    from genlaws.semanticity.probes.layer_tests import layer_tests

    found, number = [], call.here.layer_trials
    with ProgressBar(quiet=call.output.json) as bar:
        for plan in plans:
            bar.start(2 * number, f"layers, {plan.template.name}")
            found.append(
                layer_tests(
                    asked,
                    plan.task,
                    plan.template,  # type: ignore[arg-type]  # of words, as pictures have no layers here
                    trial_count=number,
                    seed=plan.seed,
                    advance=bar.advance,
                )
            )
    return found


def _save_pictures(plan: Plan, output: Output) -> None:
    if not plan.pictures or output.out is None:
        raise InputError("save_pictures needs a task with pictures and --out, the folder for them.")
    from genlaws.semanticity.probes.vision_stimuli import save_pictures

    save_pictures(plan.trials, output.out / "pictures")  # type: ignore[arg-type]


def _finish(model: str, results: list[ProbeResult], layers: list[Any], output: Output) -> None:
    import json

    from genlaws.commands.semanticity_probe_files import write_probe
    from genlaws.commands.semanticity_probe_words import result_text

    title = f"{Path(model).name}: {results[0].plan.task}"
    answer = {"probes": [one.to_dict() for one in results]}
    if layers:
        answer["layers"] = [one.to_frame().to_dict("records") for one in layers]
    written = [] if output.out is None else write_probe(output.out, title, results, layers, as_json(answer))
    if output.json:
        print(json.dumps(as_json(answer | {"files": [str(path) for path in written]}), indent=2))
        return
    print(result_text(results, layers))
    for path in written:
        print(f"Written to {path}")
