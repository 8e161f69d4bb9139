"""Probes of language and vision models: tests of similarity and of identification, asked in words or pictures.

A trial shows a few items at known places on a line (people and the years of their birth), then asks which of them is
nearest to a place, or which stands exactly there. From the answers of a model follow its generalisation and
identification for n items, its resolution, and the constant of the 1/n law.
"""

from genlaws.semanticity.probes.anchors import ResolutionCurve, resolution_curve
from genlaws.semanticity.probes.answers import parse_answer
from genlaws.semanticity.probes.asking import AskingReport, ask, ask_and_report
from genlaws.semanticity.probes.collapse import Collapse, collapse_of, fit_collapse
from genlaws.semanticity.probes.distance_curve import DistanceCurve, distance_curve
from genlaws.semanticity.probes.domains import DOMAINS, Domain, domain_of, read_table
from genlaws.semanticity.probes.models import ProbeModel, Prompt, Reply
from genlaws.semanticity.probes.outcomes import Recorded, recorded
from genlaws.semanticity.probes.plan import Plan, plan_probe
from genlaws.semanticity.probes.probe import ProbeResult, compare_templates, run_probe
from genlaws.semanticity.probes.rates import Rates, Summary, summary
from genlaws.semanticity.probes.resolution import ResolutionFit, fit_resolution
from genlaws.semanticity.probes.server_model import ServerModel
from genlaws.semanticity.probes.simulated import SimulatedModel
from genlaws.semanticity.probes.store import ReplyStore
from genlaws.semanticity.probes.templates import TEMPLATES, Template, prompt_of, template_of
from genlaws.semanticity.probes.trials import ProbeTrial, draw_resolution_trials, draw_trials
from genlaws.semanticity.probes.vision_templates import VISION_TEMPLATES, VisionTemplate, vision_template_of
from genlaws.semanticity.probes.vision_trials import (
    VisionTrial,
    draw_vision_resolution_trials,
    draw_vision_trials,
    option_counts,
)

__all__ = [
    "DOMAINS",
    "TEMPLATES",
    "VISION_TEMPLATES",
    "AskingReport",
    "Collapse",
    "DistanceCurve",
    "Domain",
    "Plan",
    "ProbeModel",
    "ProbeResult",
    "ProbeTrial",
    "Prompt",
    "Rates",
    "Recorded",
    "Reply",
    "ReplyStore",
    "ResolutionCurve",
    "ResolutionFit",
    "ServerModel",
    "SimulatedModel",
    "Summary",
    "Template",
    "VisionTemplate",
    "VisionTrial",
    "ask",
    "ask_and_report",
    "collapse_of",
    "compare_templates",
    "distance_curve",
    "domain_of",
    "draw_resolution_trials",
    "draw_trials",
    "draw_vision_resolution_trials",
    "draw_vision_trials",
    "fit_collapse",
    "fit_resolution",
    "option_counts",
    "parse_answer",
    "plan_probe",
    "prompt_of",
    "read_table",
    "recorded",
    "resolution_curve",
    "run_probe",
    "summary",
    "template_of",
    "vision_template_of",
]
