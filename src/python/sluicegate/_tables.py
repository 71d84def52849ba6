"""Flat tables of nested results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping

if TYPE_CHECKING:
    import pandas

Row = "dict[str, Any]"


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns a mapping with the names of inner ones joined by dots. Lists are left out."""
    out: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            out.update(flat(inner, f"{prefix}{name}."))
        elif not isinstance(inner, list):
            out[prefix + name] = inner
    return out


def _ports(results: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Ports of all nodes, each with the columns that name it."""
    for node in results["nodes"].values():
        for port in node["ports"]:
            yield {"node": node["name"], "kind": node["kind"], "port": port["name"]}, port


def _each_port(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    def rest(port: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in flat(port).items() if name != "name"}

    return [{**key, **rest(port)} for key, port in _ports(results)]


def _below_ports(name: str) -> Callable[[Mapping[str, Any]], list[dict[str, Any]]]:
    def rows(results: Mapping[str, Any]) -> list[dict[str, Any]]:
        found = ((key, item) for key, port in _ports(results) for item in port.get(name, ()))
        return [{**key, **flat(item)} for key, item in found]

    return rows


#: Rows of each table.
TABLES: dict[str, Callable[[Mapping[str, Any]], list[dict[str, Any]]]] = {
    "checks": lambda results: [flat(check) for check in results["checks"]],
    "flows": lambda results: [flat(flow) for flow in results["flows"]],
    "ports": _each_port,
    "priorities": _below_ports("priorities"),
    "groups": _below_ports("groups"),
    "hops": lambda results: [flat(hop) for hop in results["figures"]["hops"]],
    "faults": lambda results: [flat(fault) for fault in results["faults"]],
}


def as_frame(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    """Returns rows as a data frame of pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("data frames need pandas: pip install 'sluicegate[frames]'") from error
    return pandas.DataFrame(rows)
