// What torch's ProcessGroupGloo.hpp names of Gloo. The wheel brings no headers of Gloo, whose code
// is inside libtorch_cpu.so; a caller of ProcessGroupGloo needs no more than the names. CMake puts
// empty files where that header looks for Gloo's.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Context {
public:
    void setTimeout(std::chrono::milliseconds timeout);
};

namespace rendezvous {
class Store {
public:
    virtual ~Store();
    virtual void set(const std::string& key, const std::vector<char>& value) = 0;
    virtual std::vector<char> get(const std::string& key) = 0;
    virtual void wait(const std::vector<std::string>& keys) = 0;
    virtual void wait(const std::vector<std::string>& keys,
                      const std::chrono::milliseconds& timeout) = 0;
};
}  // namespace rendezvous

namespace transport {
class Device;
class UnboundBuffer {
public:
    virtual ~UnboundBuffer();
};
}  // namespace transport

}  // namespace gloo
