# law list-type: two isolated pageblocks merged; ending one isolation took the other's pages along.
# Now the block is cut, and the pageblock that stays isolated keeps its pages (decisions.md, 24).
mms 1
machine cpus=1 max_order=5 pageblock_order=3 thp_order=none cma_built=off free_high_batch=off
zone Normal 0x0..0x90
rules linux_6_12
isolate cpu=0 pfn=0x4b
a1 = alloc cpu=0 order=0 gfp=GFP_TRANSHUGE
isolate cpu=0 pfn=0x44
free cpu=0 a1
unisolate cpu=0 pfn=0x44 to=Reclaimable
