#include "trireme/autograd.h"

#include <torch/torch.h>

#include <utility>

#include "torch/check.h"
#include "trireme/torch.h"

namespace trireme {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What backward must know of the forward call.
struct Region : torch::CustomClassHolder {
    Region(Group the_group, Site the_site) : group(std::move(the_group)), site(the_site) {}
    Group group;
    Site site;
};

void save(AutogradContext* context, const Group& group, Site site) {
    context->saved_data["region"] =
        c10::IValue::make_capsule(c10::make_intrusive<Region>(group, site));
}

c10::intrusive_ptr<Region> saved(AutogradContext* context) {
    return c10::static_intrusive_pointer_cast<Region>(context->saved_data["region"].toCapsule());
}

/// One gradient for the tensor, none for group and site.
variable_list for_tensor_only(at::Tensor gradient) { return {std::move(gradient), {}, {}}; }

// The backward of each is the forward of the other, so that both can be differentiated again.

struct CopyTo : torch::autograd::Function<CopyTo> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Group& group,
                              Site site) {
        save(context, group, site);
        return x.view_as(x);
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const auto region = saved(context);
        return for_tensor_only(
            reduce_from_parallel_region(gradients[0], region->group, region->site));
    }
};

struct ReduceFrom : torch::autograd::Function<ReduceFrom> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Group& group,
                              Site site) {
        save(context, group, site);
        at::Tensor sum_of_all = at::empty(x.sizes(), x.options());
        group.all_reduce(x, sum_of_all, sum, site);
        return sum_of_all;
    }
    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const auto region = saved(context);
        return for_tensor_only(copy_to_parallel_region(gradients[0], region->group, region->site));
    }
};

}  // namespace

at::Tensor copy_to_parallel_region(const at::Tensor& x, const Group& group, Site site) {
    check_readable(x);
    if (!at::GradMode::is_enabled() || !x.requires_grad()) return x;  // no gradient will come back
    return CopyTo::apply(x, group, site);
}

at::Tensor reduce_from_parallel_region(const at::Tensor& x, const Group& group, Site site) {
    check_readable(x);
    return ReduceFrom::apply(x, group, site);
}

}  // namespace trireme
