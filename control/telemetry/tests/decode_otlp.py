"""Prints an OTLP request as Prometheus would write its samples. It shares no code with what made the request."""

import struct
import sys


def varint(data, at):
    number = shift = 0
    while True:
        number, shift, at = number | (data[at] & 127) << shift, shift + 7, at + 1
        if data[at - 1] < 128:
            return number, at


def fields(data):
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = (8, at) if tag & 7 == 1 else varint(data, at)
        if tag & 7:
            value, at = data[at : at + value], at + value
        found.setdefault(tag >> 3, []).append(value)
    return found


def numbers(form, parts):
    return [number for part in parts for (number,) in struct.iter_unpack("<" + form, part)]


def write(name, pairs, value, *bound):
    pairs = [(pair[1][0].decode(), fields(pair[2][0])[1][0].decode()) for pair in map(fields, pairs)]
    labels = ",".join(f'{label}="{its}"' for label, its in pairs + list(bound))
    print(f"{name}{{{labels}}} {value!r}")


def write_point(kind, name, point, zero=bytes(8)):
    print("# TIME", *numbers("Q", point.get(2, [zero]) + point[3]))
    if kind != 9:
        return write(name, point.get(7, []), numbers("d", point[4])[0] if 4 in point else numbers("q", point[6])[0])
    total = 0
    for bound, count in zip(numbers("d", point[7]) + [float("inf")], numbers("Q", point[6]), strict=True):
        total += count
        write(name + "_bucket", point.get(9, []), total, ("le", bound))
    write(name + "_count", point.get(9, []), numbers("Q", point.get(4, [zero]))[0])
    write(name + "_sum", point.get(9, []), numbers("d", point[5])[0])


for everything in map(fields, fields(sys.stdin.buffer.read())[1]):
    write("# RESOURCE", fields(everything[1][0])[1], 1)
    for metric in [fields(metric) for scope in everything[2] for metric in fields(scope)[2]]:
        [(kind, data)] = [(number, fields(metric[number][0])) for number in (5, 7, 9) if number in metric]
        print("#", metric[1][0].decode(), kind, *(data.get(it, [0])[0] for it in (2, 3)), metric.get(3, [b""])[0].decode())
        for point in data[1]:
            write_point(kind, metric[1][0].decode(), fields(point))
