# The worker drains two pages, then another CPU all of them: the trace engine judged the first by what the second
# had left.
mms 1
machine cpus=2 max_order=6 pageblock_order=6 thp_order=none cma_built=off free_high_batch=off
zone Normal 0x0..0x260
rules linux_6_12
a1 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a2 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a3 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a4 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a5 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a6 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
drain by=1 cpu=0
a7 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a8 = alloc cpu=0 order=0 gfp=GFP_KERNEL
tick cpu=0
drain-all by=1
