"""What a workflow's parameters are given is filled in where its steps refer to them."""

from typing import Any

import pytest

from signalbox.workload.kinds.workflowparameters import StepParameters
from tests.judgement_cases import view_of
from tests.world import yaml

WORKFLOW = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: main
  arguments: {parameters: [{name: models, value: "s3://b/models"}, {name: gpus, value: 4}]}
  templates:
    - name: main
      dag:
        tasks:
          - name: train
            template: train
            arguments:
              parameters:
                - {name: out, value: "{{workflow.parameters.models}}/a"}
                - {name: gpus, value: "{{ workflow.parameters.gpus }}"}
    - name: train
      inputs: {parameters: [{name: out}, {name: gpus}, {name: pool, default: "true"}]}
      nodeSelector: {cloud.google.com/gke-spot: "{{inputs.parameters.pool}}"}
      container:
        image: r/app:1
        command: [python, train.py, --output_dir, "{{inputs.parameters.out}}"]
        resources: {limits: {nvidia.com/gpu: "{{inputs.parameters.gpus}}"}}
"""


def spec(text: str) -> Any:
    return yaml(text)


def test_a_step_is_judged_by_what_its_parameters_are_given() -> None:
    view = view_of(spec(WORKFLOW))
    assert view.checkpoint.state == "durable"
    assert view.accelerators.total == 4
    assert view.spot.state == "demanded"


def test_the_manifest_itself_stays_as_it_is_written() -> None:
    workflow = spec(WORKFLOW)
    view = view_of(workflow)
    assert view.checkpoint.state == "durable"
    assert workflow == spec(WORKFLOW)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{inputs.parameters.several}}", "two steps give it different values"),
        ("{{inputs.parameters.nobody}}", "nobody gives it a value"),
        ("{{workflow.parameters.unknown}}", "the workflow has no such argument"),
        ("{{inputs.parameters.long}}", "its value is longer than anybody's"),
        ("{{inputs.parameters.item}}", "each item has another"),
    ],
)
def test_what_is_not_known_stays_a_reference(text: str, why: str) -> None:
    parameters = StepParameters(
        {
            "entrypoint": "main",
            "templates": [
                {
                    "name": "main",
                    "steps": [
                        [
                            task("t", several="a", same="x", long="y" * 2000, item="{{item.a}}"),
                            task("t", several="b", same="x", long="y" * 2000, item="{{item.b}}"),
                        ]
                    ],
                },
                {"name": "t"},
            ],
        }
    )
    assert parameters.filled(text, "t") == text, why
    assert parameters.filled("{{inputs.parameters.same}}", "t") == "x"


def test_what_only_the_cluster_knows_is_no_default() -> None:
    inputs = [
        {"name": "a", "default": "x", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
        {"name": "b", "value": "y"},
    ]
    given = {"parameters": [{"name": "b", "valueFrom": {"expression": "1"}}]}
    templates = [
        {"name": "m", "steps": [[{"template": "t", "arguments": given}]]},
        {"name": "t", "inputs": {"parameters": inputs}},
    ]
    parameters = StepParameters({"templates": templates})
    assert parameters.filled("{{inputs.parameters.a}}", "t") == "{{inputs.parameters.a}}"
    assert parameters.filled("{{inputs.parameters.b}}", "t") == "{{inputs.parameters.b}}"


@pytest.mark.parametrize(
    "other",
    [
        {"steps": [[{"template": "s", "onExit": "t"}]]},
        {"steps": [[{"template": "s", "hooks": {"exit": {"template": "t"}}}]]},
        {"dag": {"tasks": [{"template": "s", "hooks": {"exit": {"template": "t"}}}]}},
    ],
)
def test_what_runs_a_template_at_the_end_runs_it_too(other: Any) -> None:
    template = {"name": "t", "inputs": {"parameters": [{"name": "script", "default": "train.py"}]}}
    first = {"name": "main", "steps": [[task("t", script="evaluate.py")]]}
    assert StepParameters({"templates": [template, first]}).filled("{{inputs.parameters.script}}", "t") == "evaluate.py"
    for spec in ({"templates": [template, first, {"name": "o", **other}]}, {"templates": [template, first], "onExit": "t"}):
        assert "{{" in StepParameters(spec).filled("{{inputs.parameters.script}}", "t")


def test_a_template_of_workflows_to_come_is_judged_without_its_arguments() -> None:
    template = spec(WORKFLOW) | {"kind": "WorkflowTemplate"}
    assert view_of(template).checkpoint.state == "unknown"


def test_an_argument_that_is_still_to_be_given_is_not_known() -> None:
    workflow = spec(
        WORKFLOW.replace('"s3://b/models"', '""').replace("{{workflow.parameters.models}}/a", "{{workflow.parameters.models}}")
    )
    assert view_of(workflow).checkpoint.state == "unknown"


def test_what_the_whole_workflow_says_is_filled_in_too() -> None:
    workflow = spec(WORKFLOW)
    del workflow["spec"]["templates"][1]["nodeSelector"]
    workflow["spec"]["arguments"]["parameters"].append({"name": "spot", "value": "true"})
    workflow["spec"]["nodeSelector"] = {"cloud.google.com/gke-spot": "{{workflow.parameters.spot}}"}
    assert view_of(workflow).spot.state == "demanded"


def task(template: str, **values: str) -> Any:
    given = [{"name": name, "value": value} for name, value in values.items()]
    return {"template": template, "arguments": {"parameters": given}}


def test_a_template_that_nothing_runs_has_its_defaults() -> None:
    inputs = [{"name": "a", "default": "x"}, {"name": "b", "default": "y", "value": 2}]
    parameters = StepParameters({"templates": [{"name": "t", "inputs": {"parameters": inputs}}]})
    assert parameters.filled("{{inputs.parameters.a}}-{{inputs.parameters.b}}", "t") == "x-2"


def test_templates_that_run_one_another_in_a_circle_end() -> None:
    every = [task(f"t{number}", x="{{inputs.parameters.x}}") for number in range(40)]
    templates = [{"name": f"t{number}", "dag": {"tasks": every}} for number in range(40)]
    parameters = StepParameters({"templates": templates})
    assert parameters.filled("{{inputs.parameters.x}}", "t0") == "{{inputs.parameters.x}}"


def test_parameters_that_double_one_another_stay_short() -> None:
    doubled = [
        {"name": f"t{number}", "steps": [[task(f"t{number + 1}", x="{{inputs.parameters.x}}{{inputs.parameters.x}}")]]}
        for number in range(30)
    ]
    parameters = StepParameters(
        {"entrypoint": "t0", "arguments": {"parameters": [{"name": "x", "value": "a" * 100}]}, "templates": doubled}
    )
    assert parameters.filled("{{inputs.parameters.x}}", "t3") == "a" * 800
    # Longer values stay references to what hands them on.
    assert len(parameters.filled("{{inputs.parameters.x}}", "t29")) < 1024


def test_what_is_handed_on_by_many_is_found_in_any_order() -> None:
    templates = [
        {"name": f"t{number}", "steps": [[task(f"t{number + 1}", x="{{inputs.parameters.x}}")]]} for number in range(40)
    ]
    whole = {"entrypoint": "t0", "arguments": {"parameters": [{"name": "x", "value": "a"}]}, "templates": templates}
    assert StepParameters(whole).filled("{{inputs.parameters.x}}", "t39") == "a"


def test_what_is_filled_in_has_a_bound() -> None:
    spec = {"arguments": {"parameters": [{"name": "x", "value": "a"}]}}
    filled = StepParameters(spec).filled("{{workflow.parameters.x}}" * 2000, "")
    assert filled.count("a{{") == 1
    assert filled.startswith("a" * 512)


def test_what_runs_at_the_end_is_handed_the_arguments_of_the_workflow() -> None:
    template = {"name": "t", "inputs": {"parameters": [{"name": "script", "default": "train.py"}]}}
    arguments = {"parameters": [{"name": "script", "value": "evaluate.py"}]}
    spec = {"onExit": "t", "arguments": arguments, "templates": [template]}
    assert StepParameters(spec).filled("{{inputs.parameters.script}}", "t") == "evaluate.py"


def test_a_template_that_is_written_into_a_step_runs_others() -> None:
    template = {"name": "t", "inputs": {"parameters": [{"name": "script", "default": "evaluate.py"}]}}
    inline = {"inline": {"steps": [[task("t", script="train.py")]]}}
    spec = {"templates": [template, {"name": "m", "steps": [[inline, task("t")]]}]}
    assert StepParameters(spec).filled("{{inputs.parameters.script}}", "t") == "{{inputs.parameters.script}}"


def test_a_workflow_on_a_schedule_is_filled_in_too() -> None:
    workflow = spec(WORKFLOW)
    whole = {**workflow, "kind": "CronWorkflow", "spec": {"schedule": "0 0 * * *", "workflowSpec": workflow["spec"]}}
    assert view_of(whole).checkpoint.state == "durable"


@pytest.mark.parametrize("odd", [None, 1, "x", [], {}, [1, None, "x", {}], {"parameters": 1}, {"parameters": [1, {"name": 1}]}])
def test_odd_shapes_say_nothing(odd: Any) -> None:
    parameters = StepParameters(
        {
            "arguments": odd,
            "entrypoint": odd,
            "templates": [
                {"name": "t", "inputs": odd, "steps": odd, "dag": odd},
                {"name": "s", "steps": [odd, [odd]], "dag": {"tasks": odd}},
            ],
        }
    )
    body = {"command": odd, "args": odd, "env": odd, "resources": {"limits": odd, "requests": odd}, "image": odd}
    assert parameters.filled(body, "t") == body
