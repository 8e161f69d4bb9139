"""The files of ``genlaws relations learn --out``: curves, embeddings and the page that plays them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genlaws.numerics.arguments import Whole
    from genlaws.relations.relation import Relation
    from genlaws.relations.relation_runs import RelationRuns

MOST_FRAMES = 100
MOST_PLACES = 60_000  # dots of all frames together, so that a page stays below two megabytes


def write_files(folder: Path, known: Relation, runs: RelationRuns, document: str) -> str:
    """Write everything together and return the sentence that says where; the embeddings are those of one network."""
    import numpy as np

    from genlaws.figures.writing import made_folder, write_together

    sound = np.flatnonzero(~runs.failed)

    def write(work: Path) -> dict[str, Path]:
        """Write the files into a folder and return them by name."""
        (work / "learn.json").write_text(document + "\n", encoding="utf-8")
        runs.to_frame().to_csv(work / "curves.csv", index=False)
        _curves(work, known, runs)
        if sound.size:
            _embeddings(work, known, runs, int(sound[0]))
        return {path.name: path for path in sorted(work.iterdir())}

    paths = write_together(made_folder("out", folder), "learn", write)
    listed = ", ".join(paths)
    if not sound.size:
        return f"Written to {folder}: {listed}. There are no embeddings to show: every network failed."
    of = "" if len(runs) == 1 else f" The embeddings are those of network {int(sound[0])}."
    return f"Written to {folder}: {listed}.{of}"


def _curves(work: Path, known: Relation, runs: RelationRuns) -> None:
    from genlaws.figures.relations_learned import draw_courses
    from genlaws.figures.style import house_style
    from genlaws.figures.writing import save_picture

    caption = (
        "Accuracy on the entries shown and on the others, and the loss, against the step; thin lines are single "
        "networks, thick ones their mean."
    )
    with house_style():
        picture = draw_courses(runs.to_frame(), runs.majority_accuracy)
        for kind in ("png", "pdf"):
            save_picture(picture, work / f"curves.{kind}", kind, f"Networks on {known.label}", caption)


def _embeddings(work: Path, known: Relation, runs: RelationRuns, network: int) -> None:
    """Write where the elements of one network ended, and the page that shows how they came there."""
    import numpy as np
    import pandas as pd

    from genlaws.figures.relations_learned import draw_places
    from genlaws.figures.style import house_style
    from genlaws.figures.writing import save_picture
    from genlaws.relations.embedding_view import element_groups, principal_plane
    from genlaws.report import embedding_movie

    groups = element_groups(known)
    final = runs.final_embeddings[network]
    places = principal_plane(final[None])[0]
    axes = {f"embedding_{place + 1}": final[:, place] for place in range(final.shape[1])}
    about = {"element": known.names, groups.kind: groups.value}
    pd.DataFrame({**about, "x": places[:, 0], "y": places[:, 1], **axes}).to_csv(work / "embeddings.csv", index=False)
    test = float(runs.final("test_accuracy")[network])
    known_test = f", {test:.3f} on other entries" if np.isfinite(test) else ""
    title = f"{known.label} after {int(runs.steps[-1]):,} steps{known_test}"
    with house_style():
        picture = draw_places(places, groups, known.names, title, final.shape[1])
        save_picture(picture, work / "embeddings.png", "png", title, "Final embeddings of the elements.")
    frames = chosen_frames(runs.steps, known.element_count)
    page = embedding_movie(
        runs.embeddings[network][frames],
        runs.steps[frames].tolist(),
        groups,
        f"{known.label}: embeddings along the training",
        names=known.names,
        train_accuracy=runs.train_accuracy[network][frames],
        test_accuracy=runs.test_accuracy[network][frames],
    )
    (work / "embeddings.html").write_text(page, encoding="utf-8")


def chosen_frames(steps: Whole, element_count: int) -> Whole:
    """Return which measurements the page shows: the start, the end, and evenly in log time between them."""
    import numpy as np

    count = max(2, min(MOST_FRAMES, MOST_PLACES // element_count))
    wanted = np.geomspace(1.0, steps[-1] + 1.0, count)
    nearest = np.abs(np.log(steps[None] + 1.0) - np.log(wanted[:, None])).argmin(axis=1)
    return np.unique(nearest)
