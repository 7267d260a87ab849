#include "reduce/kernel.h"

#include "reduce/kernel_families.h"

namespace trireme {

bool reducible(Dtype dtype, ReduceOp::Kind op) noexcept {
    using Kind = ReduceOp::Kind;
    const DtypeClass of = class_of(dtype);
    if (of == DtypeClass::moved) return false;
    const bool number_like =
        of == DtypeClass::floating || of == DtypeClass::integer || of == DtypeClass::boolean;
    switch (op) {
        case Kind::sum:
        case Kind::prod: return number_like || of == DtypeClass::complex;
        case Kind::min:
        case Kind::max: return number_like || of == DtypeClass::located;
        case Kind::avg: return of == DtypeClass::floating || of == DtypeClass::complex;
        case Kind::premul_sum: return of == DtypeClass::floating;
        case Kind::band:
        case Kind::bor:
        case Kind::bxor:
        case Kind::land:
        case Kind::lor:
        case Kind::lxor: return of == DtypeClass::integer || of == DtypeClass::boolean;
        case Kind::user: return true;
    }
    return false;  // a number that is no op
}

ReduceKernel find_kernel(Dtype dtype, ReduceOp::Kind op) noexcept {
    if (op == ReduceOp::Kind::user || !reducible(dtype, op)) return nullptr;
    switch (class_of(dtype)) {
        case DtypeClass::floating:
        case DtypeClass::integer:
        case DtypeClass::boolean: return find_number_kernel(dtype, op);
        case DtypeClass::complex: return find_complex_kernel(dtype, op);
        case DtypeClass::located: return find_located_kernel(dtype, op);
        case DtypeClass::moved: break;
    }
    return nullptr;
}

}  // namespace trireme
