# A free drains while its zone is near its marks, and nothing follows on that CPU: the trace engine judged the drain at
# the end, when the zone was far from them.
mms 1
machine cpus=2 max_order=0 pageblock_order=0 thp_order=none cma_built=off free_high_batch=off
zone Normal 0x0..0x40
zone Movable 0x40..0x100
hole 0x7f..0x80
rules linux_6_12
set min_free_kbytes=100 watermark_scale_factor=100 watermark_boost_factor=5000
a1 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a2 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a3 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a4 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a5 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a6 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a7 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a8 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a9 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a10 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a11 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a12 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a13 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a14 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a15 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a16 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a17 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a18 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a19 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a20 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a21 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a22 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a23 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a24 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a25 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a26 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a27 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a28 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a29 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a30 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a31 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a32 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a33 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a34 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a35 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a36 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a37 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a38 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a39 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a40 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a41 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a42 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a43 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a44 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a45 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a46 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a47 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a48 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a49 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a50 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a51 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a52 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a53 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a54 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a55 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a56 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a57 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a58 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a59 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a60 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a61 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a62 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a63 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a64 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a65 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a66 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a67 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a68 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a69 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a70 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a71 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a72 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a73 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a74 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a75 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a76 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a77 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a78 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a79 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a80 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a81 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a82 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a83 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a84 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a85 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a86 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a87 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a88 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a89 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a90 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a91 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a92 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a93 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a94 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a95 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a96 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a97 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a98 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a99 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a100 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a101 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a102 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a103 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a104 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a105 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a106 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a107 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a108 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a109 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a110 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a111 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a112 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a113 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a114 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a115 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a116 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a117 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a118 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a119 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a120 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a121 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a122 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
free cpu=1 a3
free cpu=1 a5
free cpu=1 a7
free cpu=1 a16
free cpu=1 a24
free cpu=1 a28
free cpu=1 a30
free cpu=1 a32
free cpu=1 a34
free cpu=1 a38
free cpu=1 a42
free cpu=1 a44
free cpu=1 a46
free cpu=1 a48
free cpu=1 a50
free cpu=1 a52
