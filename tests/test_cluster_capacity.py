"""What a ClusterQueue can ever give, case by case as Kueue counts it (``potentialAvailable``)."""

from signalbox.cluster.capacity import Capacities, Capacity, GroupCapacity
from signalbox.cluster.objects import ClusterQueue, Cohort, FlavorQuota, ResourceGroup

GPU = "nvidia.com/gpu"


def groups(nominal: int, borrow: int | None = None, lend: int | None = None) -> tuple[ResourceGroup, ...]:
    return (ResourceGroup((GPU,), (("h100", {GPU: FlavorQuota(nominal, borrow, lend)}),)),)


def queue(name: str, nominal: int, borrow: int | None = None, lend: int | None = None, cohort: str = "all") -> ClusterQueue:
    return ClusterQueue(name, cohort, groups(nominal, borrow, lend))


def cohort(name: str, parent: str = "", nominal: int = 0, borrow: int | None = None, lend: int | None = None) -> Cohort:
    return Cohort(name, parent, groups(nominal, borrow, lend))


def capacities(queues: list[ClusterQueue], cohorts: tuple[Cohort, ...] = ()) -> dict[str, tuple[GroupCapacity, ...]]:
    known = Capacities(queues, cohorts)
    return {one.name: found for one in queues if (found := known.of(one.name)) is not None}


def ever(queues: list[ClusterQueue], *cohorts: Cohort) -> dict[str, int]:
    return {name: int(found[0].flavors["h100"][GPU].ever) for name, found in capacities(queues, cohorts).items()}


def test_without_a_cohort_a_queue_has_its_own_quota() -> None:
    assert ever([queue("a", 4, cohort=""), queue("b", 8, cohort="")]) == {"a": 4, "b": 8}


def test_in_a_cohort_all_share_what_all_have() -> None:
    assert ever([queue("a", 4), queue("b", 8), queue("c", 2, cohort="other")]) == {"a": 12, "b": 12, "c": 2}


def test_its_own_part_is_told_apart() -> None:
    found = capacities([queue("a", 4), queue("b", 8)])
    assert found["a"][0].flavors["h100"][GPU] == Capacity(12, 4)


def test_a_borrowing_limit_bounds_what_comes_on_top() -> None:
    assert ever([queue("a", 4, borrow=3), queue("b", 8, borrow=0)]) == {"a": 7, "b": 8}


def test_a_lending_limit_keeps_quota_at_home() -> None:
    # b keeps 6 for itself and lends 2.
    assert ever([queue("a", 4), queue("b", 8, lend=2)]) == {"a": 6, "b": 12}


def test_a_cohort_may_have_quota_of_its_own() -> None:
    assert ever([queue("a", 4)], cohort("all", nominal=10)) == {"a": 14}


def test_cohorts_borrow_from_their_parent() -> None:
    queues = [queue("a", 4, cohort="left"), queue("b", 8, cohort="right")]
    assert ever(queues, cohort("left", "root"), cohort("right", "root")) == {"a": 12, "b": 12}


def test_limits_of_cohorts_bind_too() -> None:
    queues = [queue("a", 4, cohort="left"), queue("b", 8, cohort="right")]
    assert ever(queues, cohort("left", "root", borrow=1), cohort("right", "root")) == {"a": 5, "b": 12}
    assert ever(queues, cohort("left", "root"), cohort("right", "root", lend=2)) == {"a": 6, "b": 12}


def test_a_parent_that_is_no_object_is_a_cohort_all_the_same() -> None:
    assert ever([queue("a", 4, cohort="left"), queue("b", 8, cohort="root")], cohort("left", "root")) == {"a": 12, "b": 12}


def test_flavors_and_resources_are_counted_apart() -> None:
    spot = ClusterQueue("s", "all", (ResourceGroup((GPU,), (("spot", {GPU: FlavorQuota(3)}),)),))
    found = capacities([queue("a", 4), spot])
    assert found["s"][0].flavors == {"spot": {GPU: Capacity(3, 3)}}
    assert found["a"][0].flavors == {"h100": {GPU: Capacity(4, 4)}}


def test_a_ring_of_cohorts_gives_nothing_that_can_be_told() -> None:
    queues = [queue("a", 4, cohort="x"), queue("b", 8, cohort="below"), queue("c", 2)]
    ring = (cohort("x", "y"), cohort("y", "x"), cohort("below", "x"))
    assert ever(queues, *ring) == {"c": 2}


def test_a_deep_tree_is_walked_without_recursion() -> None:
    names = [f"c{number}" for number in range(5000)]
    tree = [cohort(name, parent) for name, parent in zip(names, ["", *names[:-1]], strict=True)]
    assert ever([queue("a", 4, cohort=names[-1])], *tree) == {"a": 4}
