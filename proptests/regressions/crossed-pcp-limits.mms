# Marks near the memory's size push high_min above high_max; the reference panicked on the crossed
# limits. Found by engine differential, seed 1, case 0.
mms 1
machine cpus=1 max_order=5 pageblock_order=5 thp_order=none cma_built=off free_high_batch=off
zone Normal 0x0..0x30
rules linux_6_12
a1 = alloc cpu=0 order=0 gfp=GFP_KERNEL
