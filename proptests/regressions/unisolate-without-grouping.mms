# With mobility grouping off a pageblock is stored as Unmovable; its free pages must go to that
# list. The implementation put them on the list of the type given. Found by engine differential.
mms 1
machine cpus=1 max_order=4 pageblock_order=4 thp_order=none cma_built=off free_high_batch=off
zone DMA 0x0..0x20
rules linux_6_12
isolate cpu=0 pfn=0x19
unisolate cpu=0 pfn=0x19 to=Reclaimable
