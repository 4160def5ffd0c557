# A batch free gives blocks that no per-CPU list holds to the buddy before all others, wherever they
# stand in the batch. The implementation freed strictly in order. Found by engine differential.
mms 1
machine cpus=3 max_order=4 pageblock_order=1 thp_order=none cma_built=off free_high_batch=off
zone Normal 0x0..0x68
rules linux_6_12
a1 = alloc cpu=0 order=4 gfp=GFP_KERNEL
a2 a3 a4 a5 = bulk cpu=1 gfp=GFP_KERNEL
free-batch cpu=1 a3 a2 a1
