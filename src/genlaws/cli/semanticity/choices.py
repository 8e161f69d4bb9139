"""``genlaws semanticity fit-choices``: estimate resolution, background and shape of the similarity from choices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.cli.output import DEFAULT_OUTPUT, Output, aligned, as_json, show
from genlaws.core.arguments import one_of
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.semanticity.choices.comparison import compare_shapes, options_for, trials_to_distinguish
from genlaws.semanticity.choices.fit import fit_choices as fit
from genlaws.semanticity.choices.trials import read_trials
from genlaws.semanticity.theory.similarity import SHAPES

if TYPE_CHECKING:
    from genlaws.semanticity.choices.comparison import PowerAnalysis, ShapeComparison
    from genlaws.semanticity.choices.fit import ChoiceFit
    from genlaws.semanticity.choices.trials import Trials

FIT_CHOICES_COMMAND = "fit-choices"
MAX_TIED_ERRORS = 2.0  # standard errors; a shape this close to the best is indistinguishable from it
TABLE_FORMAT = (
    "CSV file. Long, one row per option: trial, distance (or probe and item), chosen (1 or 0) and, if wanted, option "
    "(the name of the answer), place (in the list) and score (its probability). Wide, one row per trial: distance_1, "
    "distance_2, ... (or probe and item_1, ...), chosen (the number from 1, or the name, of an option) and, if wanted, "
    "option_1, ... and score_1, ...; nothing, or the word unparsed, for an answer that could not be read."
)
Table = Annotated[Path, Parameter(help=TABLE_FORMAT)]
ShapeName = Annotated[
    str, Parameter(help="constant, linear, exponential, gaussian, power-law, or all to compare them.")
]
Metric = Annotated[str, Parameter(help="How probe and item become a distance: absolute or circle.")]
Period = Annotated[float | None, Parameter(help="Circumference, for --metric circle; 360 for a hue.")]
Background = Annotated[bool, Parameter(help="Fit a background, the similarity left at every distance.")]
Lapse = Annotated[bool, Parameter(help="Fit a share of answers given at random.")]
Offsets = Annotated[bool, Parameter(help="Fit a preference for each answer option.")]
Positions = Annotated[bool, Parameter(negative="", help="Fit a preference for each place in the list.")]
Temperature = Annotated[bool, Parameter(negative="", help="Fit a temperature; otherwise it is 1.")]
Exponent = Annotated[str, Parameter(help="Of the power law: a number, or fit.")]
Folds = Annotated[int, Parameter(help="Parts of the trials, each predicted from the others, to compare shapes.")]
AllIntervals = Annotated[bool, Parameter(negative="", help="Give intervals for offsets and places, too.")]
Power = Annotated[str | None, Parameter(help="TRUTH:OTHER, two shapes; how many such trials would distinguish them.")]


def fit_choices(
    trials: Table,
    *,
    shape: ShapeName = "all",
    metric: Metric = "absolute",
    period: Period = None,
    background: Background = True,
    lapse: Lapse = True,
    offsets: Offsets = True,
    positions: Positions = False,
    temperature: Temperature = False,
    exponent: Exponent = "2",
    folds: Folds = 5,
    all_intervals: AllIntervals = False,
    power: Power = None,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Estimate resolution, background and shape of the similarity from recorded choices.

    A trial without an answer is counted and reported; a row that is not understood is refused with its line.
    With --shape all the shapes are compared by how well they predict choices they were not fitted to, and the best one
    is reported.
    """
    table = read_trials(trials, metric=metric, period=period)
    options: dict[str, Any] = {
        "background": "fit" if background else 0.0,
        "lapse": "fit" if lapse else 0.0,
        "offsets": "fit" if offsets else None,
        "position_effects": "fit" if positions else None,
        "temperature": "fit" if temperature else 1.0,
        "exponent": "fit" if exponent == "fit" else _number("exponent", exponent),
    }
    pair = _pair(power)
    comparison = None
    if shape == "all":
        comparison = compare_shapes(table, tuple(SHAPES), folds=folds, seed=output.seed, **options)
    which = shape if comparison is None else comparison.best
    chosen = options if comparison is None else options_for(which, options)
    best = fit(table, which, intervals="all" if all_intervals else "scalars", **chosen)
    if not best.converged:
        raise ConvergenceError(f"The {which} shape could not be fitted. {best.message}", best)
    analysis = None if pair is None else trials_to_distinguish(table, *pair, **options)
    document = {
        **_fields(best),
        "comparison": None if comparison is None else _fields(comparison),
        "power_analysis": None if analysis is None else _fields(analysis),
        "unused_columns": list(table.unused_columns),
        "seed": output.seed,
    }
    written = "" if output.out is None else _write(output.out, document, best, comparison)
    show(
        FIT_CHOICES_COMMAND, document, _explain(best, comparison, analysis, table) + written, replace(output, out=None)
    )


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} must be a number or fit; got {text!r}.") from None


def _pair(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    first, colon, second = text.partition(":")
    if not colon:
        raise InputError(f"power must name two shapes, as in exponential:gaussian; got {text!r}.")
    return one_of("power", first, SHAPES), one_of("power", second, SHAPES)


def _fields(result: Any) -> dict[str, Any]:
    """Return the attributes of a result by name, including those of a nested result."""
    values = {field.name: getattr(result, field.name) for field in fields(result)}
    return {name: _fields(value) if is_dataclass(value) else value for name, value in values.items()}


def _write(folder: Path, document: Mapping[str, Any], best: ChoiceFit, comparison: ShapeComparison | None) -> str:
    """Write the answer as JSON, the parameters as CSV and the comparison as CSV; return a line that lists them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{FIT_CHOICES_COMMAND}.json").write_text(
        json.dumps(as_json(document), indent=2) + "\n", encoding="utf-8"
    )
    best.to_frame().to_csv(folder / f"{FIT_CHOICES_COMMAND}.csv", index=False)
    if comparison is not None:
        comparison.to_frame().to_csv(folder / f"{FIT_CHOICES_COMMAND}-shapes.csv", index=False)
    also = "" if comparison is None else f", the shapes to {folder / FIT_CHOICES_COMMAND}-shapes.csv"
    return f"\nWritten to {folder / FIT_CHOICES_COMMAND}.json and .csv{also}"


def _explain(best: ChoiceFit, comparison: ShapeComparison | None, analysis: PowerAnalysis | None, table: Trials) -> str:
    """Return the resolution first, then the other parameters, the shapes, and what could not be read."""
    low, high = best.unparsed_interval
    share = best.unparsed_count / best.trial_count
    gain = (best.log_likelihood - best.chance_log_likelihood) / best.parsed_count
    parts = [
        str(best),
        aligned({"shape": best.shape, **_parameters(best)}),
        f"Log-likelihood {best.log_likelihood_per_trial:.4f} per trial, {gain:.4f} above guessing; AIC {best.aic:.1f}.",
    ]
    if comparison is not None:
        parts.append(_shapes(comparison))
    if analysis is not None:
        parts.append(str(analysis).capitalize() + ".")
    parts.append(
        f"{best.unparsed_count} of {best.trial_count} answers could not be read "
        f"({100 * share:.1f} %, 95 % interval {100 * low:.1f} % to {100 * high:.1f} %)."
    )
    if table.unused_columns:
        parts.append(f"Columns not used: {', '.join(table.unused_columns)}.")
    parts.append(f"{best.message} Residual {best.residual:.1e}.")
    return "\n".join(parts)


def _parameters(best: ChoiceFit) -> dict[str, str]:
    rows = {}
    for row in best.to_frame().itertuples():
        if row.fitted:
            known = row.parameter in best.intervals
            value = "no best value" if row.parameter in best.at_limit else f"{row.value:.4g}"
            rows[str(row.parameter)] = value + (f"  [{row.low:.4g}, {row.high:.4g}]" if known else "")
    return rows


def _shapes(comparison: ShapeComparison) -> str:
    """Return the table of the shapes, the best first."""
    table = comparison.to_frame().rename(
        columns={"log_likelihood_per_trial": "predicted", "difference": "to best", "standard_error": "± s.e."}
    )
    text = table.to_string(index=False, float_format=lambda x: f"{x:.4f}")
    text += f"\nPredicted: log-likelihood per trial of choices not used in the fit, {comparison.fold_count} folds."
    close = [
        shape
        for shape, apart, error in zip(comparison.shapes, comparison.difference, comparison.standard_error, strict=True)
        if shape != comparison.best and -apart <= MAX_TIED_ERRORS * error
    ]
    return text + (f" Indistinguishable from the best: {', '.join(close)}." if close else "")
