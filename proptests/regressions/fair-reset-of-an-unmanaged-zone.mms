mms 1
machine cpus=4 max_order=7 pageblock_order=6 thp_order=6 cma_built=off free_high_batch=on
zone DMA 0x3e..0x9e
zone DMA32 0x9e..0x11e
zone Normal 0x11e..0x13f
hole 0x42..0x45
hole 0x5d..0x63
reserved 0x10b..0x402993
reserved 0x2..0xc0
reserved 0x200..0x0
rules linux_3_17
rule pcp_tuning=free_factor
rule highatomic_limit=rounded_up
rule below_high=on
rule batch_may_be_zero=off
set min_free_kbytes=3 watermark_scale_factor=15 watermark_boost_factor=0 lowmem_reserve_ratio=1,1,0,1 percpu_pagelist_high_fraction=10 pcp_batch_scale_max=1
free cpu=3 a0
a0 = alloc cpu=0 order=2 gfp=GFP_DMA32|__GFP_MOVABLE at=low flags=min_reserve
a1 = alloc cpu=2 order=8 gfp=GFP_KERNEL|__GFP_RECLAIMABLE at=min
free cpu=1 a0
cpu-dead by=3 cpu=0
free cpu=0 a1
a7 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a8 = bulk cpu=1 gfp=GFP_KERNEL
fail-trylock cpu=0 times=0
a9 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
free cpu=0 a8
free cpu=0 a9
pcp-disable by=0 zone=1
set min_free_kbytes=152 watermark_scale_factor=10 watermark_boost_factor=40000 lowmem_reserve_ratio=256,32896,192,193 percpu_pagelist_high_fraction=0 pcp_batch_scale_max=2
a10 = alloc cpu=2 order=0 gfp=GFP_TRANSHUGE_LIGHT node=7 nodes=0x0 task=pin
a11 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_MOVABLE at=low
a12 = alloc cpu=0 order=2 gfp=GFP_ATOMIC
a13 = alloc cpu=0 order=0 gfp=GFP_KERNEL
fail-trylock cpu=1 times=108
a14 = alloc cpu=0 order=3 gfp=GFP_KERNEL at=min
a15 = alloc cpu=3 order=0 gfp=GFP_HIGHUSER_MOVABLE
a16 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a17 = alloc cpu=0 order=2 gfp=GFP_KERNEL at=min
