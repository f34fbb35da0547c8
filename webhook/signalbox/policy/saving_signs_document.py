"""``WorkloadSigns`` documents: where progress is saved, and whether it is read back."""

from typing import Literal

from pydantic import ValidationInfo, field_validator

from signalbox.policy.signs_entry import Entry, Name, Names, Strict


class CheckpointNameEntry(Entry):
    """Words of options and variables, and what they have to do with saving (see CheckpointSigns).

    ``frameworks``: an output, or a call that saves, only for programs of these.
    """

    role: Literal[
        "subject",
        "place",
        "folder",
        "bucket",
        "never",
        "never-around",
        "owner",
        "output",
        "output-when-saving",
        "output-by-path",
        "root",
        "switch",
        "saving",
        "frequency",
        "configuration",
        "mount",
        "mount-never",
        "mount-weak",
        "mount-data",
        "mount-log",
        "model-mount",
        "own",
        "saver",
        "upload",
        "made-model",
        "unsaved",
        "store-type",
        "mounter",
        "remote-copier",
        "file",
        "model-file",
        "beside-model",
        "run",
        "made",
        "model",
        "model-folder",
        "used-model",
        "put",
        "output-if-no-other",
        "read",
        "call",
        "upload-call",
        "file-upload-call",
        "copy-call",
        "aside",
        "copier",
        "uploader",
        "tidier",
    ]
    names: Names
    frameworks: list[Name] = []

    @field_validator("frameworks")
    @classmethod
    def _of_some_roles(cls, frameworks: list[str], info: ValidationInfo) -> list[str]:
        role = info.data.get("role")
        if frameworks and role not in (None, "output", "call"):
            raise ValueError(f"frameworks stand beside the roles output and call only, this is {role}: leave them out")
        return frameworks


class StoreEntry(Entry):
    """URL schemes, and the ends of host names, of stores that outlive a Pod.

    ``rooted``: a URL may do without a host or bucket (``hdfs:///user``).
    """

    schemes: list[Name] = []
    hosts: list[Name] = []
    rooted: bool = False


class VolumeEntry(Entry):
    """Volume sources by the name of their field in ``spec.volumes``, and CSI drivers, by what they keep.

    ``drivers`` are whole names; those of a durable entry may be the beginnings of words in a driver's name as well.
    """

    kept: Literal["durable", "ephemeral", "read-only"]
    sources: list[Name] = []
    drivers: list[Name] = []


class CheckpointSection(Strict):
    """Signs of where progress is saved."""

    names: list[CheckpointNameEntry] = []
    stores: list[StoreEntry] = []
    volumes: list[VolumeEntry] = []


class ResumeEntry(Entry):
    """What says that a run reads its own checkpoint back (see ResumeSigns)."""

    role: Literal["word", "option", "load", "anew", "never", "by-itself", "code"]
    names: Names
