# Rules of 6.1: a free read its pageblock's type as Isolate, isolation ended, and the block went to
# the Isolate list uncounted, for good. Found by engine schedules.
mms 1
machine cpus=3 max_order=3 pageblock_order=3 thp_order=none cma_built=off free_high_batch=off
zone Normal 0x0..0x8
rules linux_6_1
set min_free_kbytes=0
a1 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
isolate cpu=1 pfn=0x6
free cpu=1 a1
unisolate cpu=0 pfn=0x6 to=Movable
schedule 0*2 1*3 0*1 2*1 0*1 3*1 1*2 2*2 1*2
