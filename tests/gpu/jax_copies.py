"""Copies as JAX programs make them (no CUDA runtime, driver functions looked up by name): device_put of NumPy arrays and
back, asynchronously too, and memory of the kind pinned_host."""

import json
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # leave memory to others on this device
try:
    import jax
    import numpy
except ImportError as error:
    print(f"SKIP: no jax: {error}")
    sys.exit(77)

SIZES = (1, 1000, 65536, (1 << 20) + 3)


def main():
    if jax.default_backend() != "gpu":
        print("SKIP: jax without its CUDA plugin")
        return 77
    device = jax.devices()[0]
    add_one = jax.jit(lambda values: values + 1)
    ok = True
    for size in SIZES:
        host = numpy.arange(size, dtype=numpy.float32)
        for _ in range(4):
            on_device = jax.device_put(host, device).block_until_ready()
            ok = ok and bool((numpy.asarray(on_device) == host).all())
        # Several in flight, then waited for.
        queued = [jax.device_put(host + i, device) for i in range(4)]
        sums = [add_one(values) for values in queued]
        for values in sums:
            values.copy_to_host_async()
        ok = ok and all(bool((numpy.asarray(values) == host + i + 1).all()) for i, values in enumerate(sums))
        # A copy inside the device.
        ok = ok and bool((numpy.asarray(on_device.copy()) == host).all())

    pinned = False
    if "pinned_host" in {memory.kind for memory in device.addressable_memories()}:
        pinned = True
        in_pinned = jax.sharding.SingleDeviceSharding(device, memory_kind="pinned_host")
        in_device = jax.sharding.SingleDeviceSharding(device, memory_kind="device")
        for size in SIZES:
            host = numpy.arange(size, dtype=numpy.float32)
            parked = jax.device_put(jax.device_put(host, device), in_pinned)
            for _ in range(3):
                parked = jax.device_put(jax.device_put(parked, in_device), in_pinned)
            ok = ok and bool((numpy.asarray(parked) == host).all())
    print(json.dumps({"jax": jax.__version__, "ok": ok, "pinned_host": pinned}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
