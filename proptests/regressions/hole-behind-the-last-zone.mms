# Holes may lie anywhere, and may be empty. The implementation panicked at boot on one that starts
# behind the last zone. Found by the suite any_bytes_show_no_difference.
mms 1
machine cpus=1 max_order=3 pageblock_order=3 thp_order=none cma_built=off free_high_batch=off
zone DMA 0x0..0x1
hole 0x2..0x0
reserved 0x8..0x9
rules linux_6_12
a1 = alloc cpu=0 order=0 gfp=GFP_DMA at=min flags=no_watermarks
