"""Policies that stand in a cluster, as its API server gives them."""

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError
from signalbox.policy.documents import API_VERSION
from signalbox.policy.resources import PLURALS, collection_path
from signalbox.review import JsonObject


def list_policy_objects(api: ApiServer) -> tuple[JsonObject, ...]:
    """Every policy object, with apiVersion and kind. A kind that the cluster does not have has none; raises ApiError."""
    found: list[JsonObject] = []
    for kind in PLURALS:
        try:
            for items, _, _ in api.pages(collection_path(kind)):
                found += [{**item, "apiVersion": API_VERSION, "kind": kind} for item in items]
        except ApiError as error:
            if not error.not_found:
                raise
    return tuple(found)
