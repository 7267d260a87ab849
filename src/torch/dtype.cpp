#include <string>

#include "trireme/error.h"
#include "trireme/torch.h"

namespace trireme {

Dtype to_dtype(at::ScalarType type) {
    switch (type) {
        case at::kDouble: return Dtype::float64;
        case at::kFloat: return Dtype::float32;
        case at::kHalf: return Dtype::float16;
        case at::kBFloat16: return Dtype::bfloat16;
        case at::kLong: return Dtype::int64;
        case at::kInt: return Dtype::int32;
        case at::kShort: return Dtype::int16;
        case at::kChar: return Dtype::int8;
        case at::kByte: return Dtype::uint8;
        case at::kBool: return Dtype::boolean;
        default: break;
    }
    std::string advice;
    if (at::isComplexType(type)) advice = "; at::view_as_real gives a view that does";
    throw Error(ErrorCode::unsupported,
                std::string("tensors of dtype ") + c10::toString(type) + " do not travel" + advice);
}

at::ScalarType to_scalar_type(Dtype dtype) {
    switch (dtype) {
        case Dtype::float64: return at::kDouble;
        case Dtype::float32: return at::kFloat;
        case Dtype::float16: return at::kHalf;
        case Dtype::bfloat16: return at::kBFloat16;
        case Dtype::int64: return at::kLong;
        case Dtype::int32: return at::kInt;
        case Dtype::int16: return at::kShort;
        case Dtype::int8: return at::kChar;
        case Dtype::uint8: return at::kByte;
        case Dtype::boolean: return at::kBool;
    }
    throw Error(ErrorCode::invalid_argument,
                "no dtype has the number " + std::to_string(static_cast<int>(dtype)));
}

}  // namespace trireme
