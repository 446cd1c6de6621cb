// Holds a stream of the simulated device by a host function until it is opened: what is issued meanwhile stays queued.
#pragma once

#include <atomic>
#include <thread>

#include "driver/cuda_symbols.h"

class StreamGate {
  public:
    CUresult close(CUstream stream) {
        open_ = false;
        return cuLaunchHostFunc(
            stream,
            [](void* open) {
                while (!*static_cast<std::atomic<bool>*>(open))
                    std::this_thread::yield();
            },
            &open_);
    }
    void open() { open_ = true; }

  private:
    std::atomic<bool> open_{false};
};
