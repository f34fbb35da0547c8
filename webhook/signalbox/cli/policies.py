"""``signalbox policies``: what the policies say, at a glance."""

from typing import TYPE_CHECKING

import click
import orjson

from signalbox.cli.setup_options import SetupOptions, load, policies_option
from signalbox.cli.terminal import Terminal, stdout
from signalbox.review import JsonObject

if TYPE_CHECKING:
    from signalbox.policy.policy_set import Injection, Policy

_LIST_HELP = """List the policies in the order in which they inject, with their rules.

\b
Examples:
  signalbox policies list
  signalbox policies list --policies team-policies/ -o json
"""


@click.group(help="Show the policies.", short_help="Show the policies.")
def command() -> None:
    """The group of commands about policies."""


@command.command("list", help=_LIST_HELP, short_help="List the policies and their rules.")
@policies_option("Policies to list; repeatable.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="json: one array.")
def list_policies(policies: tuple[str, ...], output: str) -> None:
    """Prints every policy."""
    found = load(SetupOptions(policies)).policies
    if output == "json":
        click.echo(orjson.dumps([_as_json(policy) for policy in found.policies], option=orjson.OPT_INDENT_2))
        return
    out = stdout()
    for policy in found.policies:
        _write(policy, out)
    for exception in found.exceptions:
        out.line(f"exception {exception.name}", "bold")
        out.line(f"  {', '.join(exception.rules)} until {exception.until}: {exception.reason}")


def _write(policy: "Policy", out: Terminal) -> None:
    from signalbox.cli.changes import shown
    from signalbox.message import clean

    out.line(f"{out.styled(policy.name, 'bold')}  {out.styled(f'precedence {policy.precedence}', 'dim')}")
    if policy.description:
        out.line(f"  {clean(policy.description, 300)}")
    for name, value in injected_fields(policy.inject).items():
        for one in value if isinstance(value, list) else [value]:
            out.line(f"  + {name}: {shown(one)}", "green")
    width = max((len(rule.name) for rule in policy.rules), default=0)
    for rule in policy.rules:
        what = rule.check or "cel"
        overridden = f", {len(rule.overrides)} override{'' if len(rule.overrides) == 1 else 's'}" if rule.overrides else ""
        out.line(f"  {rule.name:<{width}}  {rule.mode.text:<8}  {what}{overridden}")


def _as_json(policy: "Policy") -> JsonObject:
    return {
        "name": policy.name,
        "description": policy.description,
        "owner": policy.owner,
        "precedence": policy.precedence,
        "inject": injected_fields(policy.inject),
        "rules": [
            {"name": rule.name, "check": rule.check or "cel", "mode": rule.mode.text, "overrides": len(rule.overrides)}
            for rule in policy.rules
        ],
    }


def injected_fields(injection: "Injection | None") -> JsonObject:
    """What a policy injects, by the names of the policy language; empty where it injects nothing."""
    if injection is None:
        return {}
    fields: JsonObject = {
        "queue": injection.queue,
        "priorityClassName": injection.priority_class_name,
        "tolerations": list(injection.tolerations),
        "terminationGracePeriodSeconds": injection.termination_grace_period_seconds,
        "labels": injection.labels,
        "annotations": injection.annotations,
        "force": injection.force,
    }
    return {name: value for name, value in fields.items() if value}
