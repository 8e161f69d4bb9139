"""Probes of language and vision models: tests of similarity and of identification, in text or pictures.

A trial shows a few items at known places on a line (people and the years of their birth). Its question is which of them
is nearest to a place, or which is exactly there. The answers of a model give its generalization and identification for
n items, its resolution, and the constant of the 1/n law.
"""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access
from genlaws.models.interface import ProbeModel, Prompt, Reply
from genlaws.models.server import ServerModel
from genlaws.probes.asking import AskingReport, ask, ask_and_report
from genlaws.probes.collapse import Collapse, collapse_of, fit_collapse
from genlaws.probes.domains import DOMAINS, Domain, domain_of, read_table
from genlaws.probes.layers.embeddings import LayerMeasurements, measure_layers
from genlaws.probes.layers.results import LayerTests
from genlaws.probes.outcomes import RecordedTrials, parse_answer, recorded
from genlaws.probes.plan import Plan, ProbePreview, plan_probe, preview_probe
from genlaws.probes.probe import LocalModel, ProbeResult, TemplateResult, probe_model, run_probe
from genlaws.probes.rates import DistanceCurve, Rates, TrialRates, distance_curve, rates_of
from genlaws.probes.resolution import ResolutionCurve, ResolutionFit, fit_resolution, resolution_curve
from genlaws.probes.simulated import SimulatedModel
from genlaws.probes.store import ReplyStore
from genlaws.probes.templates import (
    TEMPLATES,
    VISION_TEMPLATES,
    Template,
    VisionTemplate,
    prompt_of,
    template_of,
    vision_template_of,
)
from genlaws.probes.trials import ProbeTrial, draw_resolution_trials, draw_trials
from genlaws.probes.vision.scenes import VisionTrial, draw_vision_resolution_trials, draw_vision_trials, option_counts

if TYPE_CHECKING:
    from genlaws.probes import encoders as encoders
    from genlaws.probes import layers as layers
    from genlaws.probes import stream as stream

__all__ = [
    "DOMAINS",
    "TEMPLATES",
    "VISION_TEMPLATES",
    "AskingReport",
    "Collapse",
    "DistanceCurve",
    "Domain",
    "LayerMeasurements",
    "LayerTests",
    "LocalModel",
    "Plan",
    "ProbeModel",
    "ProbePreview",
    "ProbeResult",
    "ProbeTrial",
    "Prompt",
    "Rates",
    "RecordedTrials",
    "Reply",
    "ReplyStore",
    "ResolutionCurve",
    "ResolutionFit",
    "ServerModel",
    "SimulatedModel",
    "Template",
    "TemplateResult",
    "TrialRates",
    "VisionTemplate",
    "VisionTrial",
    "ask",
    "ask_and_report",
    "collapse_of",
    "distance_curve",
    "domain_of",
    "draw_resolution_trials",
    "draw_trials",
    "draw_vision_resolution_trials",
    "draw_vision_trials",
    "fit_collapse",
    "fit_resolution",
    "measure_layers",
    "option_counts",
    "parse_answer",
    "plan_probe",
    "preview_probe",
    "probe_model",
    "prompt_of",
    "rates_of",
    "read_table",
    "recorded",
    "resolution_curve",
    "run_probe",
    "template_of",
    "vision_template_of",
]

__getattr__, __dir__ = loaded_on_access(__name__)
