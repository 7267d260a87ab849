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
        case at::kUInt16: return Dtype::uint16;
        case at::kUInt32: return Dtype::uint32;
        case at::kUInt64: return Dtype::uint64;
        case at::kBool: return Dtype::boolean;
        case at::kComplexDouble: return Dtype::complex128;
        case at::kComplexFloat: return Dtype::complex64;
        case at::kFloat8_e4m3fn: return Dtype::float8_e4m3;
        case at::kFloat8_e5m2: return Dtype::float8_e5m2;
        default: break;
    }
    throw Error(ErrorCode::unsupported,
                std::string("tensors of dtype ") + c10::toString(type) + " do not travel");
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
        case Dtype::uint16: return at::kUInt16;
        case Dtype::uint32: return at::kUInt32;
        case Dtype::uint64: return at::kUInt64;
        case Dtype::boolean: return at::kBool;
        case Dtype::complex128: return at::kComplexDouble;
        case Dtype::complex64: return at::kComplexFloat;
        case Dtype::float8_e4m3: return at::kFloat8_e4m3fn;
        case Dtype::float8_e5m2: return at::kFloat8_e5m2;
        case Dtype::located_float64:
        case Dtype::located_float32:
        case Dtype::located_int64:
        case Dtype::located_int32:
            throw Error(ErrorCode::unsupported,
                        "no tensor holds elements of " + std::string(name(dtype)));
    }
    throw Error(ErrorCode::invalid_argument,
                "no dtype has the number " + std::to_string(static_cast<int>(dtype)));
}

}  // namespace trireme
