"""Copies from Python with nothing but ctypes, as small scripts and Numba do: `copies_ctypes.py runtime LIBCUDART` calls the
runtime through a handle, `copies_ctypes.py driver` calls libcuda.so.1. Prints a ledger as the C++ programs do.

Must be recorded under the driver's names: 3 pageable and 3 pinned uploads, 2 pageable downloads waited for at once."""

import ctypes
import json
import sys

BYTES = 12288


class Runtime:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)

    def call(self, name, *arguments):
        status = getattr(self.lib, name)(*arguments)
        if status != 0:
            raise SystemExit(f"{name}: {status}")

    def device(self, size):
        out = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(out), ctypes.c_size_t(size))
        return out

    def pin(self, size):
        out = ctypes.c_void_p()
        self.call("cudaMallocHost", ctypes.byref(out), ctypes.c_size_t(size))
        return out

    def stream(self):
        out = ctypes.c_void_p()
        self.call("cudaStreamCreate", ctypes.byref(out))
        return out

    def upload(self, device, host, size, stream):
        self.call("cudaMemcpyAsync", device, host, ctypes.c_size_t(size), ctypes.c_int(1), stream)

    def download(self, host, device, size, stream):
        self.call("cudaMemcpyAsync", host, device, ctypes.c_size_t(size), ctypes.c_int(2), stream)

    def wait(self, stream):
        self.call("cudaStreamSynchronize", stream)

    def unpin(self, host):
        self.call("cudaFreeHost", host)

    pin_name = "cuMemHostAlloc"


class Driver(Runtime):
    def __init__(self):
        super().__init__("libcuda.so.1")
        self.call("cuInit", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def device(self, size):
        out = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(out), ctypes.c_size_t(size))
        return out

    def pin(self, size):
        out = ctypes.c_void_p()
        self.call("cuMemAllocHost_v2", ctypes.byref(out), ctypes.c_size_t(size))
        return out

    def stream(self):
        out = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(out), 0)
        return out

    def upload(self, device, host, size, stream):
        self.call("cuMemcpyHtoDAsync_v2", device, host, ctypes.c_size_t(size), stream)

    def download(self, host, device, size, stream):
        self.call("cuMemcpyDtoHAsync_v2", host, device, ctypes.c_size_t(size), stream)

    def wait(self, stream):
        self.call("cuStreamSynchronize", stream)

    def unpin(self, host):
        self.call("cuMemFreeHost", host)

    pin_name = "cuMemAllocHost_v2"


def row(api, kind, calls, direction="none", stream="none", destination=None, source=None, size=0, waited=0):
    nothing = {"kind": "none", "flags": 0}
    return {
        "function": "",
        "api": api,
        "kind": kind,
        "direction": direction,
        "stream": stream,
        "destination": destination or nothing,
        "source": source or nothing,
        "calls": calls,
        "failed": 0,
        "bytes": calls * size,
        "then_synchronized": waited,
    }


def main():
    cuda = Runtime(sys.argv[2]) if sys.argv[1] == "runtime" else Driver()
    device = cuda.device(BYTES)
    stream = cuda.stream()
    pinned = cuda.pin(BYTES)
    pageable = ctypes.create_string_buffer(bytes(i % 251 for i in range(BYTES)), BYTES)
    back = ctypes.create_string_buffer(BYTES)
    ctypes.memmove(pinned, pageable, BYTES)
    for _ in range(3):
        cuda.upload(device, pinned, BYTES, stream)
    for _ in range(3):
        cuda.upload(device, pageable, BYTES, stream)
    for _ in range(2):
        cuda.download(back, device, BYTES, stream)
        cuda.wait(stream)
    verified = back.raw == pageable.raw
    cuda.unpin(pinned)
    on_device = {"kind": "device", "flags": -1}
    heap = {"kind": "pageable", "flags": 0}
    pin = {"kind": "pinned", "flags": 0}
    sites = [
        row(cuda.pin_name, "allocate", 1, size=BYTES),
        row("cuMemFreeHost", "release", 1),
        row("cuMemcpyHtoDAsync_v2", "copy", 3, "host_to_device", "created", on_device, pin, BYTES),
        row("cuMemcpyHtoDAsync_v2", "copy", 3, "host_to_device", "created", on_device, heap, BYTES),
        row("cuMemcpyDtoHAsync_v2", "copy", 2, "device_to_host", "created", heap, on_device, BYTES, 2),
        row("cuStreamSynchronize", "synchronize", 2, stream="created"),
    ]
    print(json.dumps({"threads": 1, "verified": verified, "sites": sites, "live": []}))
    return 0 if verified else 1


if __name__ == "__main__":
    sys.exit(main())
