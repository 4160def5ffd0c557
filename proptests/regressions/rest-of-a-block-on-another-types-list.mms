# difference: nr_free of zone 0: expected [[1, 1, 1, 0, 0, 0], [1, 0, 2, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]], got [[1, 1, 1, 0, 0, 0], [2, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]
# at operation 73: a148 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
# found by engine differential with seed 1, case 5543 (300 operations before shrinking)
# replay: mmspec replay failures/differential-difference-3bb09136.mms
mms 1
machine cpus=2 max_order=7 pageblock_order=4 thp_order=none cma_built=off free_high_batch=off
zone Normal 0x0..0x200
hole 0x1d0..0x1d1
reserved 0xb..0xc
reserved 0x19a..0x19b
reserved 0x84..0x85
rules linux_6_12
set min_free_kbytes=0
a1 a2 a3 = bulk cpu=0 gfp=GFP_HIGHUSER_MOVABLE
a4 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a5 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
free cpu=0 a4
a6 = alloc cpu=0 order=1 gfp=GFP_KERNEL
a7 = alloc cpu=0 order=1 gfp=GFP_KERNEL
a8 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_MOVABLE
free cpu=1 a5
free-batch cpu=0 a6 a7 a8
a9 = alloc cpu=0 order=1 gfp=GFP_KERNEL
a10 = alloc cpu=0 order=1 gfp=GFP_KERNEL
free cpu=1 a9
free cpu=1 a10
a11 = alloc cpu=0 order=2 gfp=GFP_TRANSHUGE
a12 = alloc cpu=0 order=1 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a13 = alloc cpu=0 order=1 gfp=GFP_KERNEL|__GFP_MOVABLE
a14 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a15 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_MOVABLE
a16 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a17 = alloc cpu=0 order=3 gfp=GFP_TRANSHUGE
a18 = alloc cpu=0 order=1 gfp=GFP_TRANSHUGE
a19 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a20 = alloc cpu=1 order=0 gfp=GFP_TRANSHUGE
a21 a22 a23 a24 a25 a26 a27 a28 a29 a30 a31 a32 a33 a34 a35 = bulk cpu=0 gfp=GFP_KERNEL
a36 = alloc cpu=0 order=0 gfp=GFP_TRANSHUGE
a37 = alloc cpu=0 order=4 gfp=GFP_KERNEL
a38 = alloc cpu=0 order=1 gfp=GFP_KERNEL
a39 = alloc cpu=0 order=1 gfp=GFP_TRANSHUGE
a40 = alloc cpu=0 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
drain by=1 cpu=1
a41 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
isolate cpu=1 pfn=0x18a
a42 a43 a44 a45 a46 a47 a48 a49 a50 a51 = bulk cpu=1 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a52 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a53 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a54 = alloc cpu=0 order=2 gfp=GFP_TRANSHUGE
a55 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a56 a57 a58 a59 a60 a61 a62 a63 a64 a65 a66 a67 a68 a69 a70 a71 = bulk cpu=0 gfp=GFP_KERNEL
a72 = alloc cpu=0 order=1 gfp=GFP_KERNEL|__GFP_MOVABLE
drain-all by=0
a73 = alloc cpu=0 order=0 gfp=GFP_TRANSHUGE
a74 = alloc cpu=0 order=4 gfp=GFP_KERNEL
a75 = alloc cpu=0 order=0 gfp=GFP_TRANSHUGE
a76 a77 a78 a79 a80 = bulk cpu=1 gfp=GFP_TRANSHUGE
a81 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_MOVABLE
a82 = alloc cpu=0 order=0 gfp=GFP_TRANSHUGE
a83 = alloc cpu=0 order=4 gfp=GFP_KERNEL
a84 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a85 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a86 a87 a88 a89 a90 a91 a92 a93 a94 a95 a96 a97 a98 a99 a100 a101 a102 a103 a104 = bulk cpu=0 gfp=GFP_KERNEL
a105 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a106 = alloc cpu=0 order=4 gfp=GFP_KERNEL|__GFP_MOVABLE
a107 = alloc cpu=0 order=1 gfp=GFP_TRANSHUGE
a108 = alloc cpu=0 order=1 gfp=GFP_KERNEL|__GFP_MOVABLE
a109 = alloc cpu=0 order=1 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a110 = alloc cpu=0 order=1 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a111 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a112 a113 a114 a115 a116 a117 a118 a119 a120 = bulk cpu=0 gfp=GFP_KERNEL
a121 = alloc cpu=0 order=1 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a122 = alloc cpu=0 order=1 gfp=GFP_TRANSHUGE
a123 = alloc cpu=0 order=1 gfp=GFP_TRANSHUGE
a124 = alloc cpu=0 order=1 gfp=GFP_TRANSHUGE
a125 a126 a127 a128 a129 a130 a131 a132 a133 a134 a135 a136 a137 = bulk cpu=0 gfp=GFP_KERNEL
a138 = alloc cpu=0 order=2 gfp=GFP_KERNEL|__GFP_MOVABLE
a139 = alloc cpu=0 order=1 gfp=GFP_TRANSHUGE
a140 = alloc cpu=0 order=3 gfp=GFP_KERNEL|__GFP_MOVABLE
a141 = alloc cpu=0 order=3 gfp=GFP_KERNEL|__GFP_MOVABLE
a142 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a143 = alloc cpu=0 order=6 gfp=GFP_KERNEL
a144 = alloc cpu=0 order=5 gfp=GFP_KERNEL
a145 = alloc cpu=0 order=5 gfp=GFP_KERNEL
a146 = alloc cpu=0 order=4 gfp=GFP_KERNEL
a147 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a148 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
