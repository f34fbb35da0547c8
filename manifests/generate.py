"""Writes base/webhooks.yaml: which requests the API server sends us, from the signs, the kinds and the controllers' table.

Run `python manifests/generate.py` after one of them changes; a test holds the file current. With accounts or signs of your
own, `--output -` prints it for an overlay.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from signalbox.configuration import load_signs
from signalbox.controllers import CRON_JOB_CONTROLLER, Controller, Controllers, default_controllers
from signalbox.policy.resources import GROUP, PLURALS, VERSION
from signalbox.workload.judgement import TRAINING_TYPES
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.labels import QUEUE_LABEL, SCHEDULER_QUEUE_ANNOTATION, SCHEDULER_QUEUE_LABELS
from signalbox.workload.signs import Signs

TARGET = Path(__file__).parent / "base" / "webhooks.yaml"
EXEMPT = ("kube-system", "kube-public", "kube-node-lease", "signalbox-system")
VERSIONS = {"": "v1", "apps": "v1", "batch": "v1"}
# Custom kinds are read by their fields, whatever the version; one group may have kinds of several.
EVERY_VERSION = '"*"'
LABEL_PREFIX = "workload.ai/"
JOB_SET = "JobSet"

# Where kinds say what they run: a PodTemplate and Kaito's Workspace have no spec.
SAID_IN = ("spec", "template", "resource", "inference", "tuning")

# One string a line is easier to read in a diff than one long expression; CEL does not mind the line ends.
UNCHANGED_UPDATES = """\
request.operation != 'UPDATE' ||
{compared} ||
object.metadata.?labels.orValue({{}}) != oldObject.metadata.?labels.orValue({{}}) ||
[object, oldObject].exists(o, o.metadata.?annotations.orValue({{}}).exists(k,
  (k.startsWith('{prefix}') || k in {annotations}) &&
  object.metadata.?annotations[?k] != oldObject.metadata.?annotations[?k]))"""

# Any JSON may stand in a custom resource, and an expression that fails refuses the request: every step asks for the type.
CARRIES = """\
[object, oldObject].filter(o, o != null).exists(o,
  ([[o, o.?template.orValue(null)] +
    {spec}.map(s, s.?template.orValue(null)) +
    {spec}.map(s, s.?jobTemplate.orValue(null)) +
    {spec}.map(s, s.?jobTemplate.orValue(null)).filter(j, type(j) == map)
      .map(j, j.?spec.orValue(null)).filter(s, type(s) == map).map(s, s.?template.orValue(null))]{places}
  ).exists(p, p.filter(t, type(t) == map).exists(t,
    [t.?metadata.orValue(null)].filter(m, type(m) == map).exists(m,
      [m.?labels.orValue(null)].filter(l, type(l) == map).exists(l, l.exists(k, k in {queues} || k.startsWith('{prefix}'))) ||
      [m.?annotations.orValue(null)].filter(a, type(a) == map).exists(a, a.exists(k, k in {annotations}))) ||
    [t.?spec.orValue(null)].filter(s, type(s) == map).exists(s,
      s.?resourceClaims.hasValue() ||
      [s.?containers.orValue(null), s.?initContainers.orValue(null)].filter(l, type(l) == list).exists(l,
        l.filter(c, type(c) == map).map(c, c.?resources.orValue(null)).filter(r, type(r) == map).exists(r,
          [r.?limits.orValue(null), r.?requests.orValue(null)].filter(q, type(q) == map).exists(q,
            q.exists(k, k.contains('/') && (
{accelerators})))))))))"""
_WILD = re.compile(r"([*?]|\[[^\]]+\])")
_LETTERS = {"*": ".*", "?": "."}
_SPEC = "[o.?spec.orValue(null)].filter(s, type(s) == map)"

# Where the custom kinds that are judged by content keep what a Pod template holds: each a list of lists of such templates.
_COMPONENTS = f"{_SPEC}.map(s, s.map(k, s[k]).filter(c, type(c) == map))"
_ENDPOINTS = " + ".join(f"{_SPEC}.map(s, s.?{name}.orValue(null)).filter(e, type(e) == map)" for name in ("default", "canary"))
_OLD_COMPONENTS = f"({_ENDPOINTS}).map(e, e.map(k, e[k]).filter(c, type(c) == map))"
_PREDICTORS = f"({_SPEC}.map(s, s.?predictors.orValue(null)).filter(l, type(l) == list) + [[]])[0].filter(p, type(p) == map)"
_RAY = f"{_SPEC}.map(s, s.?rayClusterConfig.orValue(null)).filter(r, type(r) == map)"
_WORKLOADS = f"({_SPEC} + {_SPEC}.map(s, s.?prefill.orValue(null)).filter(s, type(s) == map))"
_ROLES = f"{_SPEC}.map(s, [s.?driver.orValue(null), s.?executor.orValue(null)].filter(r, type(r) == map))"
_SERVICES = (
    f"{_SPEC}.map(s, s.?services.orValue(null)).filter(m, type(m) == map).map(m, m.map(k, m[k]).filter(v, type(v) == map))"
)
_GPU = "dyn({'spec': {'containers': [{'resources': {'limits': {'nvidia.com/gpu': 1}}}]}})"
_MACHINE = ".filter(w, type(w) == map).map(w, w.?resource.orValue(null)).filter(r, type(r) == map)"
_FLOW = f"{_SPEC}.map(s, s.?workflowSpec.orValue(null)).filter(s, type(s) == map)"


def _steps(spec: str) -> tuple[str, ...]:
    """Each template has its containers in fields of its own; labels for the Pods of all stand beside the templates."""
    templates = f"{spec}.map(s, s.?templates.orValue(null)).filter(l, type(l) == list).map(l, l.filter(t, type(t) == map))"
    return (
        f"{spec}.map(s, [dyn({{'metadata': s.?podMetadata.orValue(null)}})])",
        templates,
        f"{templates}.map(l, l.map(t, [t.?container.orValue(null), t.?script.orValue(null)])"
        ".map(c, dyn({'spec': {'containers': c}})))",
        f"{templates}.map(l, l.map(t, dyn({{'spec': t.?containerSet.orValue(null)}})))",
        f"{templates}.map(l, l.map(t, dyn({{'spec': "
        "{'containers': t.?sidecars.orValue(null), 'initContainers': t.?initContainers.orValue(null)}})))",
    )


_SERVICE = (
    # Each component is a PodSpec with labels in it; what else stands in it may be a container (`model`, a framework's name).
    f"{_COMPONENTS}.map(l, l.map(c, dyn({{'metadata': c, 'spec': c}})))",
    f"{_COMPONENTS}.map(l, l.map(c, dyn({{'spec': {{'containers': c.map(k, c[k])}}}})))",
    f"{_COMPONENTS}.map(l, l.map(c, dyn({{'spec': c.?workerSpec.orValue(null)}})))",
    # Before that a component held one container, by the name of a framework or in `custom`.
    f"{_OLD_COMPONENTS}.map(l, l.map(c, dyn({{'spec': {{'containers': c.map(k, c[k])}}}})))",
    f"{_OLD_COMPONENTS}.map(l, l.map(c, c.?custom.orValue(null)).filter(u, type(u) == map)"
    ".map(u, dyn({'spec': {'containers': [u.?container.orValue(null)]}})))",
)
PLACES: dict[tuple[str, str], tuple[str, ...]] = {
    # One Pod template, where every kind of Kubernetes' own has it.
    ("kubeflow.org", "Notebook"): (),
    # A head, and groups of workers.
    ("ray.io", "RayService"): (
        f"{_RAY}.map(r, r.?headGroupSpec.orValue(null)).filter(h, type(h) == map).map(h, [h.?template.orValue(null)])",
        f"{_RAY}.map(r, r.?workerGroupSpecs.orValue(null)).filter(l, type(l) == list)"
        ".map(l, l.filter(g, type(g) == map).map(g, g.?template.orValue(null)))",
    ),
    ("serving.kserve.io", "InferenceService"): _SERVICE,
    ("serving.kubeflow.org", "InferenceService"): _SERVICE,
    # PodSpecs without metadata.
    ("serving.kserve.io", "LLMInferenceService"): (
        f"{_WORKLOADS}.map(w, [w.?template.orValue(null), w.?worker.orValue(null)].map(s, dyn({{'spec': s}})))",
    ),
    # Pod templates in each predictor, and a container that explains what it says.
    ("machinelearning.seldon.io", "SeldonDeployment"): (
        f"{_PREDICTORS}.map(p, [dyn({{'metadata': p}})])",
        f"{_PREDICTORS}.map(p, p.?componentSpecs.orValue(null)).filter(l, type(l) == list)",
        f"{_PREDICTORS}.map(p, p.?explainer.orValue(null)).filter(x, type(x) == map)"
        ".map(x, [dyn({'spec': {'containers': [x.?containerSpec.orValue(null)]}})])",
    ),
    # A Pod template for each role.
    ("training.kubedl.io", "MarsJob"): (
        f"{_SPEC}.map(s, s.?marsReplicaSpecs.orValue(null)).filter(r, type(r) == map)"
        ".map(r, r.map(k, r[k]).filter(x, type(x) == map).map(x, x.?template.orValue(null)))",
    ),
    # Fields of a container's, in the spec itself.
    ("apps.nvidia.com", "NIMService"): (f"{_SPEC}.map(s, [dyn({{'spec': {{'containers': [s]}}}})])",),
    # PodSpecs with the container in a field of its own and GPUs by number alone; pod templates in versions after it.
    ("nvidia.com", "DynamoGraphDeployment"): (
        f"{_SERVICES}.map(l, l.map(v, dyn({{'spec': v.?extraPodSpec.orValue(null)}})))",
        f"{_SERVICES}.map(l, l.map(v, v.?extraPodSpec.orValue(null)).filter(p, type(p) == map)"
        ".map(p, dyn({'spec': {'containers': [p.?mainContainer.orValue(null)]}})))",
        f"{_SERVICES}.map(l, l.map(v, v.?resources.orValue(null)).filter(r, type(r) == map)"
        ".map(r, [r.?limits.orValue(null), r.?requests.orValue(null)]"
        f".filter(q, type(q) == map && q.?gpu.hasValue()).map(q, {_GPU})).filter(g, size(g) > 0).map(g, g[0]))",
        f"{_SPEC}.map(s, s.?components.orValue(null)).filter(l, type(l) == list)"
        ".map(l, l.filter(c, type(c) == map).map(c, c.?podTemplate.orValue(null)))",
    ),
    # A machine type stands for its accelerators.
    ("kaito.sh", "Workspace"): (f"[o]{_MACHINE}.map(r, [{_GPU}])",),
    ("kaito.sh", "InferenceSet"): (f"{_SPEC}.map(s, s.?template.orValue(null)){_MACHINE}.map(r, [{_GPU}])",),
    # GPUs by number alone.
    ("kaiwo.silogen.ai", "KaiwoService"): (
        f"{_SPEC}.map(s, [s.?gpus.orValue(null), s.?gpusPerReplica.orValue(null), s.?gpuResources.orValue(null)]"
        f".filter(q, q != null).map(q, {_GPU}))",
    ),
    ("argoproj.io", "Workflow"): _steps(_SPEC),
    ("argoproj.io", "WorkflowTemplate"): _steps(_SPEC),
    ("argoproj.io", "CronWorkflow"): (
        *_steps(_FLOW),
        f"{_SPEC}.map(s, [dyn({{'metadata': s.?workflowMetadata.orValue(null)}})])",
    ),
    # Fields of its own, much like a PodSpec's; accelerators in `gpu`.
    ("sparkoperator.k8s.io", "SparkApplication"): (
        f"{_ROLES}.map(l, l.map(r, dyn({{'metadata': r, 'spec': r}})))",
        f"{_ROLES}.map(l, l.map(r, r.?template.orValue(null)))",
        f"{_ROLES}.map(l, l.map(r, dyn({{'spec': {{'containers': r.?sidecars.orValue(null)}}}})))",
        f"{_ROLES}.map(l, l.map(r, r.?gpu.orValue(null)).filter(g, type(g) == map && type(g.?name.orValue(null)) == string)"
        ".map(g, dyn({'spec': {'containers': [{'resources': {'limits': {g.name: 1}}}]}})))",
        # GPUs by Spark's own settings, which name the vendor.
        f"{_SPEC}.map(s, s.?sparkConf.orValue(null)).filter(c, type(c) == map)"
        ".map(c, ['spark.driver.resource.gpu.vendor', 'spark.executor.resource.gpu.vendor']"
        f".map(k, c[?k].orValue(null)).filter(v, type(v) == string).map(v, {_GPU}))",
    ),
}


def page(signs: Signs, controllers: Controllers) -> str:
    """The whole file."""
    kueue = f"!(request.userInfo.username in {_list(sorted(controllers.never_judged))})"
    read = (*signs.accelerator_annotations, SCHEDULER_QUEUE_ANNOTATION)
    changed = UNCHANGED_UPDATES.format(
        compared=" ||\n".join(f"object.?{name} != oldObject.?{name}" for name in SAID_IN),
        prefix=LABEL_PREFIX,
        annotations=_list(read),
    )
    concerns = _concerns(signs)
    by_controller = _made_by(controllers.known)
    mutated = _made_by(one for one in controllers.known if one.username != CRON_JOB_CONTROLLER)
    mutating = [
        ("kueue-is-never-judged", kueue),
        ("something-we-read-changed", changed),
        ("no-controllers-child", f"!({mutated})"),
        ("pods-only-of-ai-work", f"request.kind.kind != 'Pod' ||\n{_carries(signs)}"),
    ]
    closed = [
        ("kueue-is-never-judged", kueue),
        ("something-we-read-changed", changed),
        ("no-controllers-child", f"!({by_controller})"),
        ("ai-work", concerns),
    ]
    opened = [
        ("kueue-is-never-judged", kueue),
        ("something-we-read-changed", changed),
        ("not-judged-by-the-other-entry", f"{by_controller} ||\n!({concerns})"),
    ]
    return HEAD + "\n---\n".join(
        [
            _configuration(
                "Mutating",
                "00-signalbox",
                [
                    _webhook("mutate.policy.workload.ai", "/mutate", "Ignore", MUTATE, mutating, True),
                    _policy_webhook(POLICIES_FIRST, ["CREATE", "UPDATE"]),
                ],
            ),
            _configuration(
                "Validating",
                "signalbox",
                [
                    _webhook("validate.policy.workload.ai", "/validate", "Fail", CLOSED, closed),
                    _webhook("validate-open.policy.workload.ai", "/validate", "Ignore", OPEN, opened),
                    _policy_webhook(POLICIES, ["CREATE", "UPDATE", "DELETE"]),
                ],
            ),
        ]
    )


HEAD = """\
# Generated by manifests/generate.py from the signs, the kinds and the controllers' table; change those, not this file.
# The caBundle is put in by an overlay. An UPDATE is sent only if spec, labels or an annotation that we read differ, so
# status, finalizers and everybody else's annotations never wait for us. Kueue's account is never judged.
# Namespaces are exempt by their name alone: any other label is one that somebody can set.
"""
MUTATE = """\
What we inject is worth having, never worth an outage: Ignore. Sorts before Kueue's and JobSet's, which act on what we set.
A known controller's children were injected through their parent; the Jobs of a CronJob may still need their queue."""
CLOSED = """\
AI work that somebody wrote: without an answer of ours it does not get in. Everything else is in the entry below, so
that an outage of ours stops no web server, no network plugin, no backup Job and no Pod that replaces another."""
OPEN = """\
The rest of what we judge: what a known controller made from a parent that was judged, and what is no AI work."""
POLICIES = """\
Our own policies as objects, with all that are there. Ignore: an outage of ours never keeps anybody from mending them."""
POLICIES_FIRST = """\
Changes nothing. A type that the schema does not take is refused before validation begins: here it is in the words of lint."""


def _configuration(kind: str, name: str, webhooks: list[str]) -> str:
    head = (
        f"apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}WebhookConfiguration\nmetadata:\n  name: {name}\nwebhooks:\n"
    )
    return head + "".join(webhooks)


def _webhook(name: str, path: str, failure: str, why: str, conditions: list[tuple[str, str]], reinvoked: bool = False) -> str:
    lines = [*(f"# {line}" for line in why.splitlines()), f"- name: {name}"]
    lines += [
        "  admissionReviewVersions: [v1]",
        "  clientConfig:",
        f"    service: {{name: signalbox, namespace: signalbox-system, path: {path}, port: 443}}",
        f"  failurePolicy: {failure}",
        *(["  reinvocationPolicy: IfNeeded"] if reinvoked else []),
        "  matchPolicy: Equivalent",
        "  sideEffects: NoneOnDryRun",
        "  timeoutSeconds: 5",
        "  namespaceSelector:",
        "    matchExpressions:",
        f"      - {{key: kubernetes.io/metadata.name, operator: NotIn, values: [{', '.join(EXEMPT)}]}}",
        "  rules:",
        *_rules(),
        "  matchConditions:",
    ]
    for title, expression in conditions:
        lines += [f"    - name: {title}", "      expression: |-"]
        lines += [f"        {line}" for line in expression.splitlines()]
    return "".join(f"  {line}\n" for line in lines)


def _policy_webhook(why: str, operations: list[str]) -> str:
    lines = [
        *(f"# {line}" for line in why.splitlines()),
        "- name: policies.policy.workload.ai",
        "  admissionReviewVersions: [v1]",
        "  clientConfig:",
        "    service: {name: signalbox, namespace: signalbox-system, path: /policies, port: 443}",
        "  failurePolicy: Ignore",
        "  matchPolicy: Equivalent",
        "  sideEffects: None",
        "  timeoutSeconds: 5",
        "  rules:",
        f"    - {{apiGroups: [{GROUP}], apiVersions: [{VERSION}], resources: [{', '.join(PLURALS.values())}], "
        f"operations: [{', '.join(operations)}], scope: Cluster}}",
    ]
    return "".join(f"  {line}\n" for line in lines)


def _rules() -> Iterable[str]:
    resources: dict[str, list[str]] = {}
    for group, kind in KINDS:
        resources.setdefault(group, []).append(f"{kind.lower()}s")
    for group, names in resources.items():
        named, versions = group or '""', VERSIONS.get(group, EVERY_VERSION)
        yield (
            f"    - {{apiGroups: [{named}], apiVersions: [{versions}], resources: [{', '.join(names)}], "
            "operations: [CREATE, UPDATE], scope: Namespaced}"
        )


def _made_by(controllers: Iterable[Controller]) -> str:
    """True for what a known controller makes, by its account and by the kind of the owner: either alone can be forged."""
    return " ||\n".join(
        f"request.userInfo.username == '{one.username}' && request.kind.kind in {_made(one)} &&\n"
        f"  object.metadata.?ownerReferences.orValue([]).exists(r, r.?controller.orValue(false) && ({_owned_by(one)}))"
        for one in controllers
    )


def _made(controller: Controller) -> str:
    return _list(sorted({kind for _, kind in controller.makes}))


def _owned_by(controller: Controller) -> str:
    groups: dict[str, list[str]] = {}
    for group, kind in sorted(controller.owners):
        groups.setdefault(group, []).append(kind)
    return " || ".join(f"r.kind in {_list(kinds)} && {_of_group(group)}" for group, kinds in groups.items())


def _of_group(group: str) -> str:
    return f"r.apiVersion.startsWith('{group}/')" if group else "r.apiVersion == 'v1'"


def _judged_by_content(group: str, kind: str) -> bool:
    """Custom kinds made to serve, to be sat at or to process data, and pipelines: what they are does not make them AI work.

    The others are made to train or to run anything as a batch, and keep their accelerators in places of their own.
    """
    one = KINDS[group, kind]
    return group not in VERSIONS and (one.steps or (one.type is not None and one.type not in TRAINING_TYPES))


def _places(group: str, kind: str) -> str:
    """What is added to the places where a Pod template may stand, for one kind."""
    lists = PLACES[group, kind]
    together = " +\n      ".join(lists)
    return f" +\n   (request.kind.kind == '{kind}' ?\n      {together} : [])" if lists else ""


def _concerns(signs: Signs) -> str:
    """True for AI work: custom kinds made for it, whatever stands in them, and all else by what it carries."""
    by_content = sorted(key for key in KINDS if _judged_by_content(*key))
    kinds = _list(f"{group}/{kind}" for group, kind in by_content)
    return (
        f"!(request.kind.group in {_list(VERSIONS)} ||\n  request.kind.group + '/' + request.kind.kind in {kinds}) ||\n"
        f"{_carries(signs, by_content)}"
    )


def _carries(signs: Signs, kinds: Iterable[tuple[str, str]] = ()) -> str:
    """True for what carries an accelerator, a claim, a queue or a label of ours; ``kinds`` may do so in places of their own."""
    patterns = [pattern for sign in signs.accelerators for pattern in sign.resources]
    exact = sorted({pattern for pattern in patterns if not _WILD.search(pattern)})
    lines = [f"k in {_list(exact)}"]
    lines += [_glob(pattern) for pattern in sorted({pattern for pattern in patterns if _WILD.search(pattern)})]
    return CARRIES.format(
        spec=_SPEC,
        # Kinds of one name are read alike.
        places="".join(dict.fromkeys(_places(*kind) for kind in kinds)),
        queues=_list((QUEUE_LABEL, *SCHEDULER_QUEUE_LABELS)),
        prefix=LABEL_PREFIX,
        annotations=_list((*signs.accelerator_annotations, SCHEDULER_QUEUE_ANNOTATION)),
        accelerators=" ||\n".join(f"              {line}" for line in lines),
    )


def _glob(pattern: str) -> str:
    """A glob as CEL. What stands between two stars is looked for anywhere: never narrower than the glob."""
    if any(letter in pattern for letter in "?["):
        # Dearer, so only where a single letter counts.
        parts = [
            _LETTERS.get(part) or part.replace("[!", "[^") if _WILD.match(part) else re.escape(part) for part in _parts(pattern)
        ]
        return f"k.matches(r'^{''.join(parts)}$')"
    first, *between, last = pattern.split("*")
    tests = [f"k.startsWith('{first}')"] if first else []
    tests += [f"k.contains('{part}')" for part in between if part]
    tests += [f"k.endsWith('{last}')"] if last else []
    return " && ".join(tests) or "true"


def _parts(pattern: str) -> list[str]:
    """The stars, question marks and classes of a glob, and what stands between them."""
    return [part for part in _WILD.split(pattern) if part]


def _list(values: Iterable[str]) -> str:
    return "[" + ", ".join(f"'{value}'" for value in values) + "]"


def main(arguments: list[str]) -> int:
    """Writes the file."""
    defaults = default_controllers()
    kueue = next(iter(defaults.never_judged))
    job_set = next(one.username for one in defaults.known if ("jobset.x-k8s.io", JOB_SET) in one.owners)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kueue-account", default=kueue, help="the user name of Kueue's controller, as in signalbox serve")
    parser.add_argument("--jobset-account", default=job_set, help="the user name of JobSet's controller, as in signalbox serve")
    parser.add_argument(
        "--signs", action="append", default=[], type=Path, help="WorkloadSigns beside the shipped ones; repeatable"
    )
    parser.add_argument("--output", default=str(TARGET), help="- prints it")
    given = parser.parse_args(arguments)
    signs = load_signs(given.signs)
    for problem in signs.problems:
        print(problem, file=sys.stderr)
    if signs.problems:
        return 1
    text = page(signs.signs, default_controllers(given.kueue_account, given.jobset_account))
    if given.output == "-":
        print(text, end="")
    else:
        Path(given.output).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
