// Whose code a frame is, and which frame a finding is headed by.
#include <gtest/gtest.h>

#include <fstream>

#include "analyzer/launch_stubs.h"
#include "analyzer/origin.h"
#include "analyzer_sample.h"

namespace pincheck::test {
namespace {

using report::Direction;
using report::MemoryClass;

TEST(Origins, know_libraries_by_file_name) {
    const Origins origins;
    const std::pair<const char*, Origin> expected[] = {
        {"/usr/local/cuda/lib64/libcudart.so.13", Origin::cuda},
        {"/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04", Origin::cuda},
        {"/x/site-packages/torch/lib/libcudart-d0da41ae.so.11.0", Origin::cuda},
        {"/usr/lib/libcupti.so.13", Origin::cuda},
        {"/opt/pincheck/lib/libpincheck.so", Origin::tool},
        {"/x/nvidia/nccl/lib/libnccl.so.2", Origin::vendor},
        {"/x/libcublasLt.so.13", Origin::vendor},
        {"/x/libcusolver.so.11", Origin::vendor},
        {"/x/libcudnn_ops.so.9", Origin::vendor},
        {"/x/libnvinfer.so.10", Origin::vendor},
        {"/x/site-packages/torch/lib/libtorch_cuda.so", Origin::framework},
        {"/x/site-packages/torch/lib/libc10_cuda.so", Origin::framework},
        {"/x/site-packages/torch/_C.cpython-312-x86_64-linux-gnu.so", Origin::framework},
        {"/x/site-packages/cupy_backends/cuda/api/runtime.cpython-312-x86_64-linux-gnu.so", Origin::framework},
        {"/x/jax_plugins/xla_cuda13/xla_cuda_plugin.so", Origin::framework},
        {"/x/jaxlib/xla_extension.so", Origin::framework},
        {"/usr/lib/x86_64-linux-gnu/libc.so.6", Origin::system},
        {"/usr/lib/x86_64-linux-gnu/libffi.so.8.1.2", Origin::system},
        {"/usr/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so", Origin::system},
        {"/usr/bin/python3.11", Origin::system},
        {"/usr/bin/python3.11 (deleted)", Origin::system},
        {"[vdso]", Origin::system},
        {"/home/me/train", Origin::user},
        {"/home/me/libcopywrap.so", Origin::user},
        {"/home/me/python_helper", Origin::user},
        {"/home/me/my_libcuda.so", Origin::user},
        {"/home/me/libcudahelpers.so", Origin::user},
        {"", Origin::user}};
    for (const auto& [path, origin] : expected) {
        EXPECT_EQ(static_cast<int>(origins.of_path(path)), static_cast<int>(origin)) << path;
    }
}

std::string added(Origins& origins, const std::string& text) {
    const report::test::TempFile file;
    std::ofstream(file.path()) << text;
    std::string problem = origins.add_file(file.path());
    const std::size_t at = problem.find(file.path());
    return at == 0 ? problem.substr(file.path().size() + 2) : problem;
}

TEST(Origins, take_patterns_from_a_file_before_their_own) {
    Origins origins;
    EXPECT_EQ(origins.of_path("/opt/acme/libacme.so.1"), Origin::user);
    EXPECT_EQ(added(origins, R"({"vendor": ["libacme*.so*"], "user": ["*/mine/libtorch_cuda.so"]})"), "");
    EXPECT_EQ(origins.of_path("/opt/acme/libacme.so.1"), Origin::vendor);
    EXPECT_EQ(origins.of_path("/src/mine/libtorch_cuda.so"), Origin::user);
    EXPECT_EQ(origins.of_path("/src/libtorch_cuda.so"), Origin::framework);
}

TEST(Origins, say_what_is_wrong_with_a_file) {
    Origins origins;
    EXPECT_TRUE(origins.add_file("/nonexistent.json")
                    .starts_with("cannot read /nonexistent.json: No such file or directory; "));
    EXPECT_NE(added(origins, "[]").find("not a JSON object"), std::string::npos);
    EXPECT_NE(added(origins, "{").find("not a JSON object"), std::string::npos);
    EXPECT_NE(added(origins, R"({"vendors": []})").find("'vendors' is no origin"), std::string::npos);
    EXPECT_NE(added(origins, R"({"vendor": "x"})").find("'vendor' is not a list"), std::string::npos);
    EXPECT_NE(added(origins, R"({"vendor": [7]})").find("not a pattern"), std::string::npos);
    EXPECT_EQ(origins.of_path("/usr/lib/libcuda.so.1"), Origin::cuda);
}

struct Heads {
    int heading;
    int issuing;
    std::string api;
    bool operator==(const Heads&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Heads& heads) {
    return out << heads.heading << ", " << heads.issuing << ", " << heads.api;
}

Heads heads(std::initializer_list<FrameText> stack, const char* api = "cuMemcpyHtoDAsync_v2") {
    CaptureMaker maker;
    CaptureSite& site = maker.copy(Direction::host_to_device, MemoryClass::pageable, stack);
    site.api = api;
    const Origins origins;
    const Capture& capture = maker.loaded.capture;
    return {heading_frame(capture, site, origins), issuing_frame(capture, site, origins),
            called_api(capture, site, origins)};
}

constexpr const char* kMe = "/home/me/train";
constexpr FrameText kMine{kMe, "step(Batch&)", "/src/train.cpp", 41};
constexpr FrameText kMineInexact{kMe, "step(Batch&)+0x40"};
constexpr FrameText kRuntime{"/usr/lib/libcudart.so.13"};
constexpr FrameText kTorch{"/x/libtorch_cuda.so"};
constexpr FrameText kPython{"/usr/bin/python3"};

TEST(Frames, of_the_user_head_and_of_libraries_issue) {
    EXPECT_EQ(heads({kMine}), (Heads{0, 0, "cuMemcpyHtoDAsync_v2"}));
    EXPECT_EQ(heads({kRuntime, kMine}, "cudaMemcpyAsync"), (Heads{1, 1, "cudaMemcpyAsync"}));
    EXPECT_EQ(heads({kRuntime, kTorch, kPython, kMine}, "cudaMemcpyAsync"), (Heads{3, 1, "cudaMemcpyAsync"}));
    EXPECT_EQ(heads({kTorch, kPython}), (Heads{0, 0, "cuMemcpyHtoDAsync_v2"})) << "no frame of the user's";
    EXPECT_EQ(heads({kRuntime}), (Heads{-1, -1, "cuMemcpyHtoDAsync_v2"}));
    EXPECT_EQ(heads({}), (Heads{-1, -1, "cuMemcpyHtoDAsync_v2"}));
}

TEST(Frames, of_a_static_runtime_are_skipped_and_name_the_function_called) {
    const FrameText internal{kMe, "libcudart_static_0a1b2c3d+0x1f"};
    const FrameText unnamed{kMe};
    const FrameText api{kMe, "cudaMemcpyAsync+0x2a"};
    EXPECT_EQ(heads({internal, api, kMine}), (Heads{2, 2, "cudaMemcpyAsync"}));
    EXPECT_EQ(heads({internal, internal, internal, api, kMineInexact}), (Heads{4, 4, "cudaMemcpyAsync"}));
    EXPECT_EQ(heads({unnamed, unnamed, api, kMine}), (Heads{3, 3, "cudaMemcpyAsync"})) << "local symbols stripped";
    EXPECT_EQ(heads({{kMe, "cudart::cudaApiMemcpyAsync(void*)+0x5"}, {kMe, "cudaMemcpy2DAsync_ptsz+0x4"}, kMine}),
              (Heads{2, 2, "cudaMemcpy2DAsync_ptsz"}));
    EXPECT_EQ(heads({{kMe, "(anonymous namespace)::copy_async(bool)", "/w/tests/simcuda/runtime/api_memory.cpp", 74},
                     {kMe, "cudaMemcpyAsync", "/w/tests/simcuda/runtime/api_memory.cpp", 12},
                     kMine}),
              (Heads{2, 2, "cudaMemcpyAsync"}));
    EXPECT_EQ(heads({api, {kMe, "cudaError cudaMallocHost<float>(float**)", "/c/cuda_runtime.h", 700}, kMine}),
              (Heads{2, 2, "cudaMemcpyAsync"}))
        << "C++ overloads of the toolkit's headers";
}

TEST(Frames, of_a_stripped_static_program_leave_the_drivers_name_and_the_innermost_frame) {
    EXPECT_EQ(heads({{kMe}, {kMe}, {kMe}}), (Heads{0, 0, "cuMemcpyHtoDAsync_v2"}));
}

TEST(Frames, named_like_cuda_by_the_user_are_still_the_users) {
    const FrameText helper{kMe, "cudaMemcpyHelper(void*, unsigned long)", "/src/helper.cpp", 7};
    EXPECT_EQ(heads({helper, kMine}), (Heads{0, 0, "cuMemcpyHtoDAsync_v2"}));
    const FrameText templated{kMe, "void upload<cudart::Tag>(int)", "/src/helper.cpp", 7};
    EXPECT_EQ(heads({templated, kMine}), (Heads{0, 0, "cuMemcpyHtoDAsync_v2"}));
    // A runtime call further out, past a function that is certainly the user's, belongs to something else.
    EXPECT_EQ(heads({kMine, {kMe, "cudaLaunchHostFunc+0x1"}, kMine}), (Heads{0, 0, "cuMemcpyHtoDAsync_v2"}));
}

TEST(Frames, show_their_innermost_line_that_is_not_the_runtimes) {
    CaptureFrame frame;
    EXPECT_EQ(heading_line(frame, Origins()), nullptr);
    frame.lines = {{"cudaMallocHost<float>(float**)", "/c/cuda_runtime.h", 700, true},
                   {"step()", "/src/a.cpp", 3, true}};
    ASSERT_NE(heading_line(frame, Origins()), nullptr);
    EXPECT_EQ(heading_line(frame, Origins())->line, 3u);
}

// ---- Kernels' launches: nvcc's stubs lie in the user's own module

CaptureFrame frame_of(std::vector<SourceLine> lines) {
    CaptureFrame frame;
    frame.module = 0;
    frame.lines = std::move(lines);
    return frame;
}

// The function that a launch is headed by, of frames innermost first; "" for none.
std::string launch_heading(std::vector<CaptureFrame> frames) {
    Capture capture;
    capture.modules = {{"/home/me/train", ""}, {"/usr/local/cuda/lib64/libcudart.so.13", ""}};
    CaptureSite site;
    site.api = "cuLaunchKernel";
    site.stack = std::move(frames);
    CaptureFrame runtime = frame_of({{"__cudaLaunchKernel+0x12", "", 0, false}});
    runtime.module = 1;
    site.stack.insert(site.stack.begin(), runtime);
    mark_launch_stubs(site.stack);
    const Origins origins;
    EXPECT_EQ(called_api(capture, site, origins), "cudaLaunchKernel");
    const int heading = heading_frame(capture, site, origins);
    const SourceLine* line = heading < 0 ? nullptr : shown_line(site.stack[static_cast<std::size_t>(heading)], origins);
    return line == nullptr ? "" : line->function;
}

const SourceLine kHelper = {"__cudaLaunchKernel_helper", "/usr/local/cuda/include/crt/device_functions.h", 2963, true};
const SourceLine kMain = {"main", "/src/train.cu", 64, true};

SourceLine stub_of(const std::string& mangled) {
    return {"__device_stub_" + mangled + "(int*)", "/tmp/x.cudafe1.stub.c", 13, true};
}

TEST(LaunchStubs, are_not_what_a_launch_is_headed_by) {
    const SourceLine kernel = {"step(int*)", "/src/train.cu", 40, true};
    // Inlined in each way.
    EXPECT_EQ(launch_heading({frame_of({kHelper, stub_of("_Z4stepPi")}), frame_of({kernel, kMain})}), "main");
    EXPECT_EQ(launch_heading({frame_of({kHelper, stub_of("_Z4stepPi"), kernel}), frame_of({kMain})}), "main");
    EXPECT_EQ(launch_heading({frame_of({kHelper, stub_of("_Z4stepPi"), kernel, kMain})}), "main");
    EXPECT_EQ(
        launch_heading({frame_of({kHelper}), frame_of({stub_of("_Z4stepPi")}), frame_of({kernel}), frame_of({kMain})}),
        "main");
}

TEST(LaunchStubs, are_known_of_kernels_in_namespaces_and_of_templates) {
    EXPECT_EQ(launch_heading({frame_of({kHelper, stub_of("_ZN3app4stepEPi")}),
                              frame_of({{"app::step(int*)", "/src/train.cu", 40, true}, kMain})}),
              "main");
    // Without a name of its own, the namespace has one that the compiler makes.
    EXPECT_EQ(launch_heading({frame_of({kHelper, stub_of("_ZN36_GLOBAL__N__89b8bf71_4_t_cu_72de957f4stepEPi")}),
                              frame_of({{"_GLOBAL__N__89b8bf71_4_t_cu_72de957f::step(int*)", "/src/t.cu", 4, true}}),
                              frame_of({kMain})}),
              "main");
    EXPECT_EQ(launch_heading({frame_of({kHelper, stub_of("_Z4stepIiEvPT_")}),
                              frame_of({{"__wrapper__device_stub_step<int>(int*&)", "/src/t.cu", 4, true},
                                        {"step<int>(int*)", "/src/t.cu", 4, true},
                                        kMain})}),
              "main");
}

// A compiler may leave the kernel's function out of the stack: its last call is the stub.
TEST(LaunchStubs, do_not_hide_the_caller_of_a_kernel_that_is_not_on_the_stack) {
    EXPECT_EQ(launch_heading({frame_of({kHelper, stub_of("_Z4stepPi")}), frame_of({kMain})}), "main");
}

}  // namespace
}  // namespace pincheck::test
