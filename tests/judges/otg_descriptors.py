"""Compares descriptors of ours with those of snappi: same fields, numbers, types, labels, words.

Messages may have other names, which are not on the wire, and `Unsupported` stands for any. Fields and words of
ours alone have numbers from `OWN` on, which snappi has none of.
"""

import sys

from google.protobuf import descriptor_pb2, descriptor_pool
from snappi import otg_pb2

OWN = 1001


def differences(ours, theirs, path, seen, found):
    if ours.name == "Unsupported" or (ours.full_name, theirs.full_name) in seen:
        return
    seen.add((ours.full_name, theirs.full_name))
    a = {f.number: f for f in ours.fields if f.number < OWN}
    b = {f.number: f for f in theirs.fields}
    for number in sorted(a.keys() | b.keys()):
        here = f"{path}, field {number}"
        if number not in a or number not in b:
            found.append(f"{here} is only in {'snappi' if number in b else 'ours'}")
            continue
        f, g = a[number], b[number]
        for what in ("name", "type", "is_repeated", "has_presence"):
            if getattr(f, what) != getattr(g, what):
                found.append(f"{here}: {what} {getattr(f, what)}, in snappi {getattr(g, what)}")
        if f.enum_type and g.enum_type:
            words = [{v.name: v.number for v in e.enum_type.values} for e in (f, g)]
            words[0] = {word: number for word, number in words[0].items() if number < OWN}
            if words[0] != words[1]:
                found.append(f"{here}: words {words[0]}, in snappi {words[1]}")
        if f.message_type and g.message_type:
            differences(f.message_type, g.message_type, f"{path}.{f.name}", seen, found)


def main():
    with open(sys.argv[1], "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    ours = {m.name: m for m in pool.FindServiceByName("otg.Openapi").methods}
    theirs = {m.name: m for m in otg_pb2.DESCRIPTOR.services_by_name["Openapi"].methods}
    found, seen = [], set()
    if ours.keys() != theirs.keys():
        found.append(f"methods {sorted(ours)}, in snappi {sorted(theirs)}")
    for name in ours.keys() & theirs.keys():
        f, g = ours[name], theirs[name]
        if (f.client_streaming, f.server_streaming) != (g.client_streaming, g.server_streaming):
            found.append(f"{name}: other streams")
        differences(f.input_type, g.input_type, f"request of {name}", seen, found)
        differences(f.output_type, g.output_type, f"answer of {name}", seen, found)
    print(f"{len(seen)} messages compared")
    print("\n".join(found))
    sys.exit(bool(found))


main()
