# Not a failure: two CPUs allocate, free each other's pages and drain each other, under a schedule
# that switches inside every refill and drain. Keeps the replay of schedules alive.
mms 1
machine cpus=2 max_order=3 pageblock_order=3 thp_order=none cma_built=off free_high_batch=off
zone Normal 0x0..0x40
rules linux_6_12
set min_free_kbytes=0
a1 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a2 = alloc cpu=1 order=0 gfp=GFP_KERNEL
free cpu=1 a1
free cpu=0 a2
drain by=0 cpu=1
drain by=1 cpu=0
a3 = alloc cpu=0 order=1 gfp=GFP_KERNEL
drain-all by=1
schedule 0*4 1*3 2*2 1*1 2*5 1*4 2*1 1*1 2*1 1*1 2*1 1*1 2*7 1*9 2*3
