"""Copies as Numba programs make them (driver API from Python): to_device and copy_to_host, blocking and in a stream, from
ordinary, pinned and registered arrays, and between device arrays. Needs no compiler. Mapped arrays are left out: Numba
takes them for device arrays, and copy_to_device fails with them."""

import json
import sys

try:
    import numba
    import numpy
    from numba import cuda
except ImportError as error:
    print(f"SKIP: no numba: {error}")
    sys.exit(77)

SIZES = (1, 1000, 65536, (1 << 20) + 3)
PAGE = 1024  # floats


def blocking(host):
    on_device = cuda.to_device(host)
    back = numpy.empty_like(host)
    for _ in range(3):
        on_device.copy_to_device(host)
        on_device.copy_to_host(back)
    return bool((back == host).all() and (on_device.copy_to_host() == host).all())


def in_stream(host, source, result):
    """source and result: arrays of any kind of host memory, as long as host."""
    stream = cuda.stream()
    source[:] = host
    on_device = cuda.device_array(host.shape, host.dtype)
    for _ in range(3):
        on_device.copy_to_device(source, stream=stream)
        on_device.copy_to_host(result, stream=stream)
    stream.synchronize()
    return bool((result == host).all())


def inside_the_device(host):
    first = cuda.to_device(host)
    second = cuda.device_array(host.shape, host.dtype)
    for _ in range(3):
        second.copy_to_device(first)
    return bool((second.copy_to_host() == host).all())


def main():
    if not cuda.is_available():
        print("SKIP: numba finds no CUDA")
        return 77
    ok = True
    for size in SIZES:
        host = numpy.arange(size, dtype=numpy.float32)
        ok = blocking(host) and ok
        ok = in_stream(host, numpy.empty_like(host), numpy.empty_like(host)) and ok
        ok = in_stream(host, cuda.pinned_array(size, host.dtype), cuda.pinned_array(size, host.dtype)) and ok
        apart = numpy.empty(2 * size + PAGE, host.dtype)  # no page belongs to both
        registered = apart[:size], apart[size + PAGE:]
        with cuda.pinned(registered[0]), cuda.pinned(registered[1]):
            ok = in_stream(host, *registered) and ok
        ok = inside_the_device(host) and ok
    print(json.dumps({"numba": numba.__version__, "ok": ok}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
