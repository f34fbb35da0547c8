"""Signs of where progress is saved, and of whether it is read back, from ``WorkloadSigns`` documents."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from signalbox.policy.looked_up import as_words, phrase
from signalbox.policy.saving_signs_document import CheckpointNameEntry, CheckpointSection
from signalbox.policy.signs_document import SignsSpec
from signalbox.policy.signs_roles import CHECKPOINT, RESUME, STORES, VOLUMES, Roles
from signalbox.workload.saving_signs import CheckpointSigns, ResumeSigns
from signalbox.workload.vocabulary import option_name

_WHOLE_OPTIONS = frozenset(
    {
        "switch",
        "output",
        "output-of",
        "output-when-saving",
        "output-by-path",
        "output-if-no-other",
        "root",
        "configuration",
        "upload",
        "made-model",
        "unsaved",
        "store-type",
        "option",
        "load",
        "anew",
    }
)


def checkpoint_signs(sections: Sequence[CheckpointSection]) -> CheckpointSigns:
    """The sections of all documents together."""
    stores = [section.stores for section in sections]
    schemes = Roles(
        ((("rooted" if entry.rooted else "hosted", name) for entry in one for name in entry.schemes) for one in stores), STORES
    )
    volumes = [section.volumes for section in sections]
    sources = Roles((((entry.kept, name) for entry in one for name in entry.sources) for one in volumes), VOLUMES)
    drivers = Roles((((entry.kept, name) for entry in one for name in entry.drivers) for one in volumes), VOLUMES)
    return replace(
        _names_of_saving([section.names for section in sections]),
        schemes=schemes["rooted"] | schemes["hosted"],
        rooted_schemes=schemes["rooted"],
        hosts=tuple(name for one in stores for entry in one for name in entry.hosts),
        durable_volumes=sources["durable"],
        ephemeral_volumes=sources["ephemeral"],
        read_only_volumes=sources["read-only"],
        storage_drivers=drivers.in_order("durable"),
        ephemeral_drivers=drivers["ephemeral"],
        read_only_drivers=drivers["read-only"],
    )


def _names_of_saving(documents: Sequence[Sequence[CheckpointNameEntry]]) -> CheckpointSigns:
    roles = Roles(map(_roles_of_saving, documents), CHECKPOINT)
    calls_of = _frameworks(documents, "call-of", roles)
    return CheckpointSigns(
        subjects=roles["subject"],
        places=roles["place"],
        buckets=roles["bucket"],
        never=roles["never"],
        never_around=roles["never-around"],
        owners=roles["owner"],
        folders=roles["folder"],
        switches=roles["switch"],
        outputs=roles["output"],
        outputs_when_saving=roles["output-when-saving"],
        outputs_by_path=roles["output-by-path"],
        roots=roles["root"],
        outputs_of=_frameworks(documents, "output-of", roles),
        saving=roles["saving"],
        frequency=roles["frequency"],
        configuration=roles["configuration"],
        mounts=roles["mount"],
        mounts_never=roles["mount-never"],
        mounts_weak=roles["mount-weak"],
        mounts_of_data=roles["mount-data"],
        mounts_of_logs=roles["mount-log"],
        model_mounts=roles["model-mount"],
        own=roles["own"],
        savers=roles["saver"],
        uploads=roles["upload"],
        made_models=roles["made-model"],
        unsaved=roles["unsaved"],
        store_types=roles["store-type"],
        mounters=roles["mounter"],
        remote_copiers=roles["remote-copier"],
        files=roles["file"],
        model_files=roles["model-file"],
        beside_models=roles["beside-model"],
        runs=roles["run"],
        made=roles["made"],
        models=roles["model"],
        model_folders=roles["model-folder"],
        used_models=roles["used-model"],
        puts=roles["put"],
        outputs_if_no_other=roles["output-if-no-other"],
        reads=roles["read"],
        calls=tuple(sorted(roles["call"] | calls_of.keys())),
        calls_of=calls_of,
        upload_calls=roles.in_order("upload-call"),
        file_upload_calls=roles.in_order("file-upload-call"),
        copy_calls=roles.in_order("copy-call"),
        asides=roles["aside"],
        copiers=roles["copier"],
        uploaders=roles["uploader"],
        tidiers=roles["tidier"],
    )


def _roles_of_saving(entries: Iterable[CheckpointNameEntry]) -> Iterator[tuple[str, str]]:
    """Each name with its role; ``output-of`` and ``call-of`` are for programs of some frameworks only."""
    for entry in entries:
        role = f"{entry.role}-of" if entry.frameworks else entry.role
        for name in entry.names:
            yield role, _as_looked_up(role, name)


def _frameworks(documents: Iterable[Iterable[CheckpointNameEntry]], role: str, roles: Roles[str]) -> dict[str, frozenset[str]]:
    """For programs of which frameworks a name has such a role, all documents together."""
    found: dict[str, frozenset[str]] = dict.fromkeys(roles.in_order(role), frozenset())
    for entries in documents:
        for entry in entries:
            for one, name in _roles_of_saving([entry]):
                if one == role and name in found:
                    found[name] = found[name].union(entry.frameworks)
    return found


def resume_signs(specs: Sequence[SignsSpec]) -> ResumeSigns:
    """The entries of all documents together."""
    roles = Roles(
        (((entry.role, _as_looked_up(entry.role, name)) for entry in spec.resume for name in entry.names) for spec in specs),
        RESUME,
    )
    return ResumeSigns(
        words=roles["word"],
        options=roles["option"],
        loads=roles["load"],
        anew=roles["anew"],
        never=roles["never"],
        by_itself=roles["by-itself"],
        code=roles.in_order("code"),
    )


def _as_looked_up(role: str, name: str) -> str:
    """A name of what has to do with saving, in the form that names are compared in."""
    if role in _WHOLE_OPTIONS:
        return option_name(name)
    if role == "owner":
        return as_words(name)
    return phrase(name) if role == "model-mount" else name
