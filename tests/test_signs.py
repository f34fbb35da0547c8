"""WorkloadSigns documents: strict, explained, and added to by a platform team."""

import time
from typing import Any

import pytest
from pydantic import ValidationError

from signalbox.cluster.view import EmptyClusterView
from signalbox.policy.signs_compile import compile_signs
from signalbox.policy.signs_document import WorkloadSignsDocument
from signalbox.signs_loading import default_documents, load_default_signs
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.view import WorkloadView
from tests.judgement_cases import manifest_of


def document(spec: dict[str, Any]) -> WorkloadSignsDocument:
    return WorkloadSignsDocument.model_validate(
        {"apiVersion": "policy.workload.ai/v1alpha1", "kind": "WorkloadSigns", "metadata": {"name": "ours"}, "spec": spec}
    )


def view(container: dict[str, Any], *specs: dict[str, Any]) -> WorkloadView:
    signs = compile_signs([*default_documents(), *map(document, specs)])
    return WorkloadView(manifest_of({"container": container}), KINDS["batch", "Job"], signs, EmptyClusterView())


def test_shipped_documents_are_one_a_concern() -> None:
    names = [shipped.metadata.name for shipped in default_documents()]
    assert names == ["accelerators", "checkpoint", "framework", "resume", "spot", "type"]


def test_shipped_signs_load_fast_enough_for_a_command_line() -> None:
    default_documents()
    start = time.process_time()
    compile_signs(default_documents())
    # Some 10 ms on a quiet machine; ten times as much would be felt at every command.
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(
    "spec",
    [
        {"typos": []},
        {"types": [{"type": "training", "words": ["forge"]}]},
        {"types": [{"type": "trainingg", "reason": "x", "words": ["forge"]}]},
        {"types": [{"type": "distributed-training", "reason": "x", "words": ["forge"]}]},
        {"types": [{"type": "training", "reason": "x", "words": "forge"}]},
        {"types": [{"type": "training", "reason": "", "words": ["forge"]}]},
        {"spot": {"labels": [{"keys": [], "reason": "x"}]}},
        {"spot": {"labels": [{"keys": ["a"], "values": [True], "reason": "x"}]}},
        {"ports": [{"meaning": "rendezvous", "ports": [70000], "reason": "x"}]},
        {"accelerators": [{"resources": ["a/b"], "reason": "x"}]},
        {"checkpoint": {"volumes": [{"kept": "forever", "sources": ["x"], "reason": "x"}]}},
    ],
)
def test_mistake_in_a_document_is_an_error(spec: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        document(spec)


def test_team_adds_a_word_of_its_own() -> None:
    container = {"command": ["python", "forge.py"]}
    added = {"types": [{"type": "fine-tuning", "reason": "our own trainer", "words": ["forge"]}]}
    assert view(container).type.state is None
    judged = view(container, added).type
    assert judged.state == "fine-tuning"
    assert judged.evidence[0].note == "our own trainer"


def test_later_document_wins_where_both_speak() -> None:
    container = {"command": ["python", "convert.py"]}
    added = {"types": [{"type": "training", "reason": "our converters train", "words": ["convert"]}]}
    assert view(container, added).type.state == "training"


def test_team_adds_an_accelerator_a_spot_label_and_a_store() -> None:
    added = {
        "accelerators": [{"vendor": "acme", "resources": ["acme.com/npu"], "toleration": "acme.com/npu", "reason": "ours"}],
        "spot": {"labels": [{"keys": ["acme.com/cheap"], "reason": "ours"}]},
        "checkpoint": {"stores": [{"schemes": ["acme"], "reason": "ours"}]},
    }
    signs = compile_signs([*default_documents(), document(added)])
    container = {"command": ["python", "train.py", "--output_dir=acme://x"], "resources": {"limits": {"acme.com/npu": 2}}}
    manifest = manifest_of({"container": container, "gpus": 0, "with": {"nodeSelector": {"acme.com/cheap": "yes"}}})
    judged = WorkloadView(manifest, KINDS["batch", "Job"], signs, EmptyClusterView())
    assert (judged.accelerators.total, judged.spot.state, judged.checkpoint.state) == (2, "demanded", "durable")


def test_signs_alone_judge_nothing_by_themselves() -> None:
    signs = compile_signs([])
    manifest = manifest_of({"container": {"command": ["torchrun", "train.py", "--output_dir=s3://b/x"]}})
    judged = WorkloadView(manifest, KINDS["batch", "Job"], signs, EmptyClusterView())
    assert (judged.type.state, judged.framework.state, judged.checkpoint.state) == (None, None, "none")


def test_defaults_are_compiled_once() -> None:
    assert load_default_signs() is load_default_signs()
