#include <gtest/gtest.h>
#include <numeric>
#include "support/ranks.h"
namespace trireme {
TEST(Smoke, AllReduce) {
    for (int n : {1,2,3,4}) for (std::size_t count : {0ul,1ul,7ul,1000ul,100000ul,1000000ul})
    run_ranks(n, [&](World& w) {
        std::vector<double> v(count); std::iota(v.begin(), v.end(), 1.0*w.rank());
        w.group().all_reduce(v);
        for (std::size_t i=0;i<count;++i) ASSERT_EQ(v[i], n*double(i)+ n*(n-1)/2) << n << " " << count << " " << i;
    });
}
}
