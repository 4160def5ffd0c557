# Rules of 6.1: a CMA page freed past a busy per-CPU list lands on the Movable list (bug P8) and
# must be accounted by that list when it is taken again. Reference and implementation differed.
mms 1
machine cpus=1 max_order=7 pageblock_order=7 thp_order=none cma_built=on free_high_batch=off
zone DMA32 0x0..0x98
zone Normal 0xb5..0x330
cma 0x100..0x180
rules linux_6_1
a1 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15 a16 a17 a18 a19 a20 a21 a22 a23 a24 = bulk cpu=0 gfp=GFP_HIGHUSER_MOVABLE
a25 = alloc cpu=0 order=1 gfp=GFP_KERNEL
a26 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a27 = alloc cpu=0 order=1 gfp=GFP_KERNEL
a28 a29 a30 a31 a32 a33 a34 a35 a36 a37 a38 a39 = bulk cpu=0 gfp=GFP_KERNEL
a40 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_MOVABLE
a41 = alloc cpu=0 order=6 gfp=GFP_HIGHUSER_MOVABLE
a42 = alloc cpu=0 order=6 gfp=GFP_KERNEL
a43 = alloc cpu=0 order=4 gfp=GFP_KERNEL|__GFP_MOVABLE
a44 = alloc cpu=0 order=5 gfp=GFP_KERNEL
a45 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a46 a47 a48 = bulk cpu=0 gfp=GFP_KERNEL
a49 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a50 = alloc cpu=0 order=1 gfp=GFP_KERNEL
a51 = alloc cpu=0 order=2 gfp=GFP_KERNEL
a52 = alloc cpu=0 order=3 gfp=GFP_KERNEL|__GFP_MOVABLE
a53 a54 a55 a56 a57 a58 a59 = bulk cpu=0 gfp=GFP_KERNEL|__GFP_MOVABLE
fail-trylock cpu=0 times=1
free cpu=0 a59
a60 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_MOVABLE
