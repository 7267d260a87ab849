#include <ATen/Functions.h>
#include <c10/util/accumulate.h>

#include <memory>

#include "trireme/error.h"
#include "trireme/torch.h"

namespace trireme {

at::Tensor empty_shared(at::IntArrayRef sizes, const at::TensorOptions& options, const Group& group,
                        Site site) {
    for (const std::int64_t size : sizes)
        if (size < 0) throw Error(ErrorCode::invalid_argument, "empty_shared: a size is negative");
    if (!options.device().is_cpu() || options.layout() != at::kStrided)
        throw Error(ErrorCode::unsupported,
                    "empty_shared: only strided tensors in host memory can be shared");
    const auto type = c10::typeMetaToScalarType(options.dtype());
    const auto elements = static_cast<std::size_t>(c10::multiply_integers(sizes));
    const std::size_t bytes = elements * size_of(to_dtype(type));
    const auto memory = detail::allocate_shared(group, bytes, site);
    return at::from_blob(
               memory.get(), sizes, [memory](void*) {}, options.requires_grad(std::nullopt))
        .set_requires_grad(options.requires_grad());
}

}  // namespace trireme
