"""For the pytest plugin's own test (plugin.py): which of these fail is in their names. CUDA is called by ctypes."""

import ctypes

import pytest

SIZE = ctypes.c_size_t(1 << 16)


class Cuda:
    def __init__(self):
        self.lib = ctypes.CDLL("libcudart.so")
        self.device = self.pointer("cudaMalloc", SIZE)
        self.stream = self.pointer("cudaStreamCreate")
        self.pinned = self.pointer("cudaMallocHost", SIZE)
        self.pageable = ctypes.create_string_buffer(SIZE.value)

    def pointer(self, name, *arguments):
        out = ctypes.c_void_p()
        assert getattr(self.lib, name)(ctypes.byref(out), *arguments) == 0
        return out

    def upload(self, host):
        assert self.lib.cudaMemcpyAsync(self.device, host, SIZE, ctypes.c_int(1), self.stream) == 0
        assert self.lib.cudaStreamSynchronize(self.stream) == 0


@pytest.fixture(scope="session")
def cuda():
    return Cuda()


@pytest.fixture
def uploaded(cuda):
    cuda.upload(cuda.pageable)


def test_without_cuda_passes():
    pass


def test_pinned_passes(cuda):
    cuda.upload(cuda.pinned)


def test_pageable_fails(cuda):
    cuda.upload(cuda.pageable)


def test_after_it_passes(cuda):
    cuda.upload(cuda.pinned)


# Where files beside the tests, a configuration of pincheck's too, are not found.
def test_elsewhere_passes(cuda, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cuda.upload(cuda.pinned)


# The same place again.
@pytest.mark.parametrize("times", [1, 2])
def test_pageable_again_fails(cuda, times):
    for _ in range(times):
        cuda.upload(cuda.pageable)


def test_in_a_fixture_has_an_error(uploaded):
    pass


def test_without_cuda_at_the_end_passes():
    pass


def test_of_its_own_fails():
    assert 1 == 2
