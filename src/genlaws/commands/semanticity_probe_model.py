"""The model that ``genlaws semanticity probe`` asks: behind a server, or on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genlaws.commands.semanticity_probe_options import Call

if TYPE_CHECKING:
    from genlaws.semanticity.probes.models import ProbeModel


def load_probe_model(model: str, pictures: bool, call: Call) -> ProbeModel:
    """Return the model to ask; a key that is missing or a model that is not there is said before anything is asked."""
    questions, here, remote, seed = call.questions, call.here, call.remote, call.output.seed
    if remote.server is not None:
        from genlaws.semanticity.probes.server_model import ServerModel

        return ServerModel(
            remote.server,
            model,
            api_key_variable=remote.key_variable or None,
            temperature=questions.temperature,
            seed=seed,
            max_tokens=questions.max_tokens,
            label=remote.label,
            timeout=remote.timeout,
            retries=remote.retries,
            concurrency=remote.concurrency,
        )
    settings: dict[str, Any] = {
        "device": here.device,
        "dtype": here.dtype,
        "local_files_only": not here.download,
        "batch_size": here.batch_size,
        "max_new_tokens": questions.max_tokens,
        "temperature": questions.temperature,
        "seed": seed,
    }
    if pictures:
        from genlaws.semanticity.probes.vision_model import VisionModel

        return VisionModel.load(model, **settings)
    from genlaws.semanticity.probes.transformers_model import TransformersModel

    return TransformersModel.load(model, **settings)
