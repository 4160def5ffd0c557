mms 1
machine cpus=1 max_order=6 pageblock_order=3 thp_order=none cma_built=off free_high_batch=off
zone DMA 0x80..0xc0
zone Normal 0xc0..0x180
reserved 0xb0..0xb1
rules linux_3_17
a1 = alloc cpu=0 order=6 gfp=GFP_KERNEL
a2 = alloc cpu=0 order=6 gfp=GFP_KERNEL
a3 = alloc cpu=0 order=6 gfp=GFP_KERNEL at=min flags=no_watermarks
a4 = alloc cpu=0 order=5 gfp=GFP_KERNEL|__GFP_MOVABLE
a5 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a6 = alloc cpu=0 order=3 gfp=GFP_KERNEL|__GFP_MOVABLE
a7 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_MOVABLE
a8 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_MOVABLE
a9 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_MOVABLE
isolate cpu=0 pfn=0x89
free cpu=0 a4
a10 a11 a12 a13 a14 a15 a16 a17 a18 a19 a20 a21 a22 = bulk cpu=0 gfp=GFP_HIGHUSER_MOVABLE
free cpu=0 a22
