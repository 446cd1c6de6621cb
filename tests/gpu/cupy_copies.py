"""Copies as CuPy programs make them (static runtime inside): asarray, get, pinned memory with streams, copies inside the
device, memset."""

import json
import sys

try:
    import cupy
    import numpy
except ImportError as error:
    print(f"SKIP: no cupy: {error}")
    sys.exit(77)


def main():
    host = numpy.arange(65536, dtype=numpy.float32)
    for _ in range(5):
        device = cupy.asarray(host)
        back = device.get()
    ok = bool((back == host).all())

    memory = cupy.cuda.alloc_pinned_memory(host.nbytes)
    pinned = numpy.frombuffer(memory, numpy.float32, host.size)
    pinned[...] = host
    stream = cupy.cuda.Stream(non_blocking=True)
    target = cupy.empty(host.size, numpy.float32)
    for _ in range(5):
        target.set(pinned, stream=stream)
        target.get(stream=stream, out=pinned)
        stream.synchronize()
    ok = ok and bool((pinned == host).all())

    twin = cupy.empty_like(device)
    for _ in range(3):
        twin.data.copy_from_device(device.data, device.nbytes)
        twin.data.memset_async(0, 4, stream)
    stream.synchronize()
    back = twin.get()
    ok = ok and bool((back[1:] == host[1:]).all()) and bool(back[0] == 0)
    print(json.dumps({"cupy": cupy.__version__, "ok": ok}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
