"""What the image of a container says, by the registry path that is known or by what its repository and tag are called."""

from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import members
from signalbox.workload.naming import read_name
from signalbox.workload.said import Said, Strength
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, MAX_PHRASE, image_name, name_words

_USES_A_MODEL = ("inference", "batch-inference")


def by_image(container: ContainerView, signs: Signs, ends: bool) -> Said | None:
    """What the image says. Options alone are given to the image's own program, so it still speaks."""
    image = container.image
    if not image or _is_beside(image, signs):
        return None
    saying = signs.types.of_image(image)
    by_name = None
    if saying is None and _runs_its_own(container):
        repository, tag = image_name(image)
        by_name = read_name(repository, signs)
        saying = by_name.saying if container.accelerated else by_name.plain
        if saying is None and not by_name.refused and tag.isalpha():
            # `credit-risk:inference`: one image for each work of a project.
            saying = read_name(tag, signs).plain
    handed = saying is not None and by_name is not None and members(container.body.get("args"))
    if saying is not None and handed and saying.says in _USES_A_MODEL and (ends or saying.says != "inference"):
        # Given options, it may do anything with the model that it is named for: convert it, load it somewhere.
        return None
    # What a program is called may be general; an image of a Job is mostly named for what it comes from.
    if saying is None or (saying.general and (ends or not container.accelerated)):
        return None
    return Said(saying, Evidence((*container.path, "image"), image, saying.reason), Strength.WEAK, source="image")


def _is_beside(image: str, signs: Signs) -> bool:
    """Whether an image is of something that goes with what it names: ``model-server-exporter``, ``notebook-controller``."""
    name, _ = image_name(image)
    if not read_name(name, signs).thing:
        return False
    words = name_words(name[:MAX_NAME])
    if len(words) < 2 or words[-1] not in signs.names.things or words[-1] in signs.types.words:
        return False
    return all("_".join(words[-length:]) not in signs.types.images for length in range(1, MAX_PHRASE + 1))


def _runs_its_own(container: ContainerView) -> bool:
    """Whether the image's own program is what runs: it is given nothing, or options."""
    args = members(container.body.get("args"))
    return not args or (isinstance(args[0], str) and args[0][:1] == "-")
