"""Signs of where a run saves, and of whether it reads that back."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CheckpointSigns:
    """Names of options and variables that say where progress is saved, and volumes that keep it.

    An option speaks of a checkpoint when its words hold one of ``subjects`` and one of ``places`` and none of
    ``never``, nor one of ``owners`` before the subject; with one of ``buckets``, its value is a bucket's name. Where its last
    word is one of ``folders``, a tool that tunes a known model and writes elsewhere reads that model there.
    Below one of ``never_around`` (``logger.save_dir``) nothing is the run's state.
    ``outputs`` are whole names that say where a run writes; ``outputs_when_saving`` do so only beside a save frequency
    (words of ``saving`` with ``frequency``), ``roots`` among them only with a folder that is named for it,
    ``outputs_by_path`` only as options with a whole path, ``outputs_of`` only for programs of the frameworks they lead to.
    ``switches`` turn saving off altogether when they say no.
    ``configuration`` names options that take a configuration file. A mount, or its volume, is a run's own with one of
    the words ``mounts`` and none of ``mounts_never``; those that are ``mounts_weak`` do not say so of a volume that is
    mounted as one of ``mounts_of_data``, nor of a folder on a volume named ``mounts_of_logs``.
    ``model_mounts`` are folders of a finished model. ``files`` are endings of files that hold the state of a model,
    ``model_files`` of such as may hold anything and do so where they are called a model, unless one of ``beside_models``
    stands in the name. ``runs`` are words that, with ``folders`` alone, name the folder of a run, ``made`` such that say of a
    model that the run makes it. One of ``models`` with ``places`` or ``buckets`` names where a model is, with one of
    ``model_folders`` a folder for models; before it ``used_models`` say that it is no outcome of the run, and ``puts`` that
    something is put there. ``outputs_if_no_other`` are whole names of a run's output that count where no other is told.
    An option that is not known is no place that is written to with one of the words ``reads``. ``calls`` are pieces of program
    text that save to one of their arguments, some only for programs of the frameworks in ``calls_of``, and ``upload_calls``
    such that upload a model, ``file_upload_calls`` such that upload the file they are given, ``copy_calls`` such that copy it;
    none where what is saved is one of ``asides``; ``copiers`` copy from their first argument to their last,
    ``remote_copiers`` to a store's name, ``uploaders`` to one of models. ``tidiers`` put nothing into the folders they
    are given, ``mounters`` mount what outlives the Pod at the last. ``savers`` save without being told to, ``unsaved`` turn
    saving off, ``store_types`` say in which store paths are. By ``uploads`` a model is uploaded, ``made_models`` name the one
    which is made. With one of the words ``own`` an output is that of the run.
    ``schemes`` of URLs and ``hosts`` (ends of their names, or first words) are those of stores that outlive a Pod;
    ``rooted_schemes`` are those whose URLs may do without a host or bucket. The three ``*_volumes`` are fields of a volume that
    name its source: what is written to durable ones outlives the Pod and its node, to ephemeral ones it does not, and read-only
    ones take nothing. Of an inline CSI volume its driver says the same: ``storage_drivers`` (whole names, or the beginnings of
    words in them) keep what is written, ``ephemeral_drivers`` lose it with the Pod, ``read_only_drivers`` take nothing.
    """

    subjects: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    buckets: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    never_around: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    switches: frozenset[str] = frozenset()
    outputs: frozenset[str] = frozenset()
    outputs_when_saving: frozenset[str] = frozenset()
    outputs_by_path: frozenset[str] = frozenset()
    roots: frozenset[str] = frozenset()
    outputs_of: dict[str, frozenset[str]] = field(default_factory=dict)
    saving: frozenset[str] = frozenset()
    frequency: frozenset[str] = frozenset()
    configuration: frozenset[str] = frozenset()
    mounts: frozenset[str] = frozenset()
    mounts_never: frozenset[str] = frozenset()
    mounts_weak: frozenset[str] = frozenset()
    mounts_of_data: frozenset[str] = frozenset()
    mounts_of_logs: frozenset[str] = frozenset()
    model_mounts: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    savers: frozenset[str] = frozenset()
    uploads: frozenset[str] = frozenset()
    made_models: frozenset[str] = frozenset()
    unsaved: frozenset[str] = frozenset()
    store_types: frozenset[str] = frozenset()
    mounters: frozenset[str] = frozenset()
    remote_copiers: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    model_files: frozenset[str] = frozenset()
    beside_models: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    made: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    model_folders: frozenset[str] = frozenset()
    used_models: frozenset[str] = frozenset()
    puts: frozenset[str] = frozenset()
    outputs_if_no_other: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    calls: tuple[str, ...] = ()
    calls_of: dict[str, frozenset[str]] = field(default_factory=dict)
    upload_calls: tuple[str, ...] = ()
    file_upload_calls: tuple[str, ...] = ()
    copy_calls: tuple[str, ...] = ()
    asides: frozenset[str] = frozenset()
    copiers: frozenset[str] = frozenset()
    uploaders: frozenset[str] = frozenset()
    tidiers: frozenset[str] = frozenset()
    schemes: frozenset[str] = frozenset()
    rooted_schemes: frozenset[str] = frozenset()
    hosts: tuple[str, ...] = ()
    durable_volumes: frozenset[str] = frozenset()
    ephemeral_volumes: frozenset[str] = frozenset()
    read_only_volumes: frozenset[str] = frozenset()
    storage_drivers: tuple[str, ...] = ()
    ephemeral_drivers: frozenset[str] = frozenset()
    read_only_drivers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ResumeSigns:
    """What says that a run reads its own checkpoint back.

    ``words`` of options and variables, and whole ``options``; ``loads`` read a checkpoint that may be another's, ``anew``
    leaves what is there aside; with a word of ``never`` a name speaks of something else. Programs and
    packages ``by_itself`` need not be told; ``code`` holds pieces of program text.
    """

    words: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    loads: frozenset[str] = frozenset()
    anew: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    by_itself: frozenset[str] = frozenset()
    code: tuple[str, ...] = ()
