mms 1
# Everything at odd places: zone edges inside a pageblock, holes, reserved frames, CMA, and small
# orders so that merging meets every border.
machine cpus=2 max_order=5 pageblock_order=4 thp_order=4 cma_built=on free_high_batch=on
zone DMA 0x3..0x9d
zone Normal 0x9d..0x837
hole 0x20..0x2b
hole 0x200..0x235
hole 0x300..0x310
reserved 0x40..0x47
reserved 0x405..0x406
cma 0x600..0x640
rules linux_6_12
set min_free_kbytes=160

# phase fill: small blocks of every type from both zones
a1 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a2 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a3 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a4 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a5 = alloc cpu=0 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a6 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a7 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a8 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a9 = alloc cpu=0 order=1 gfp=GFP_KERNEL|GFP_DMA
a10 = alloc cpu=1 order=3 gfp=GFP_KERNEL|GFP_DMA
a11 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER
a12 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER
a13 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a14 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a15 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a16 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a17 = alloc cpu=0 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a18 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a19 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a20 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a21 = alloc cpu=0 order=1 gfp=GFP_KERNEL|GFP_DMA
a22 = alloc cpu=1 order=3 gfp=GFP_KERNEL|GFP_DMA
a23 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER
a24 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER
a25 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a26 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a27 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a28 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a29 = alloc cpu=0 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a30 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a31 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a32 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a33 = alloc cpu=0 order=1 gfp=GFP_KERNEL|GFP_DMA
a34 = alloc cpu=1 order=3 gfp=GFP_KERNEL|GFP_DMA
a35 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER
a36 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER
a37 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a38 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a39 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a40 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a41 = alloc cpu=0 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a42 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a43 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a44 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a45 = alloc cpu=0 order=1 gfp=GFP_KERNEL|GFP_DMA
a46 = alloc cpu=1 order=3 gfp=GFP_KERNEL|GFP_DMA
a47 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER
a48 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER
a49 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a50 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a51 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a52 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a53 = alloc cpu=0 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a54 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a55 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a56 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a57 = alloc cpu=0 order=1 gfp=GFP_KERNEL|GFP_DMA
a58 = alloc cpu=1 order=3 gfp=GFP_KERNEL|GFP_DMA
a59 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER
a60 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER

# phase fragment: every second block is freed, on the other CPU
free cpu=0 a1
free cpu=0 a3
free cpu=0 a5
free cpu=0 a7
free cpu=0 a9
free cpu=0 a11
free cpu=0 a13
free cpu=0 a15
free cpu=0 a17
free cpu=0 a19
free cpu=0 a21
free cpu=0 a23
free cpu=0 a25
free cpu=0 a27
free cpu=0 a29
free cpu=0 a31
free cpu=0 a33
free cpu=0 a35
free cpu=0 a37
free cpu=0 a39
free cpu=0 a41
free cpu=0 a43
free cpu=0 a45
free cpu=0 a47
free cpu=0 a49
free cpu=0 a51
free cpu=0 a53
free cpu=0 a55
free cpu=0 a57
free cpu=0 a59
drain by=0 cpu=1

# phase isolate: a used, a free and a CMA pageblock are isolated; lists of the zone are off
pcp-disable by=0 zone=1
isolate cpu=0 pfn=0x600
isolate cpu=0 pfn=0x500
isolate cpu=0 pfn=0x400
isolate cpu=0 pfn=0x310
a61 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a62 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a63 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a64 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
free cpu=0 a62
unisolate cpu=0 pfn=0x600 to=CMA
unisolate cpu=0 pfn=0x500 to=Movable
unisolate cpu=0 pfn=0x400 to=Movable
pcp-enable zone=1

# phase reserve: high-order atomic requests set pageblocks aside before pressure comes
a65 = alloc cpu=0 order=2 gfp=GFP_ATOMIC at=min flags=min_reserve,non_block,highatomic
a66 = alloc cpu=1 order=2 gfp=GFP_ATOMIC at=min flags=min_reserve,non_block,highatomic
a67 = alloc cpu=0 order=2 gfp=GFP_ATOMIC at=min flags=min_reserve,non_block,highatomic
reclaim-active zone=1 on
a68 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a69 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a70 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a71 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a72 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a73 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a74 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a75 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a76 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a77 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a78 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a79 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a80 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a81 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a82 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a83 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a84 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a85 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a86 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a87 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a88 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a89 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a90 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a91 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a92 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a93 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a94 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a95 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a96 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a97 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a98 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a99 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a100 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a101 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a102 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a103 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a104 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a105 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a106 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a107 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a108 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a109 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a110 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a111 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a112 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a113 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a114 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a115 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a116 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a117 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a118 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a119 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a120 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a121 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a122 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a123 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a124 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a125 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a126 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a127 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a128 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a129 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a130 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a131 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a132 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a133 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a134 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a135 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a136 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a137 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a138 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a139 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a140 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a141 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a142 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a143 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a144 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a145 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a146 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a147 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a148 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a149 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a150 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a151 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a152 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a153 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a154 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a155 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a156 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a157 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a158 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a159 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a160 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a161 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a162 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a163 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a164 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a165 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a166 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a167 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a168 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a169 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a170 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a171 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a172 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a173 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a174 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a175 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a176 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a177 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a178 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a179 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a180 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a181 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a182 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a183 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a184 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a185 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a186 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a187 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a188 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a189 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a190 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a191 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a192 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a193 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a194 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a195 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a196 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a197 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a198 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a199 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a200 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a201 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a202 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a203 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a204 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a205 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a206 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a207 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a208 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a209 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a210 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a211 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a212 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a213 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a214 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a215 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a216 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a217 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a218 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a219 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a220 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a221 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a222 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a223 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a224 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a225 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a226 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a227 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a228 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a229 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a230 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a231 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a232 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a233 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a234 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a235 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a236 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a237 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a238 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a239 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a240 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a241 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a242 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a243 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a244 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a245 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a246 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a247 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a248 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a249 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a250 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a251 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a252 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a253 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a254 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a255 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a256 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a257 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a258 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a259 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a260 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a261 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a262 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a263 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a264 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a265 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a266 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a267 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a268 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a269 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a270 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a271 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a272 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a273 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a274 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a275 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a276 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a277 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a278 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a279 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a280 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a281 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a282 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a283 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a284 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a285 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a286 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a287 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a288 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a289 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a290 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a291 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a292 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a293 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a294 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a295 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a296 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a297 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a298 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a299 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a300 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a301 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a302 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a303 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a304 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a305 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a306 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a307 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a308 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a309 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a310 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a311 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a312 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a313 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a314 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a315 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a316 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a317 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a318 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a319 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a320 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a321 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a322 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a323 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a324 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a325 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a326 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a327 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a328 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a329 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a330 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a331 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a332 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a333 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a334 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a335 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a336 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a337 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a338 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a339 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a340 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a341 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a342 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a343 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a344 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a345 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a346 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a347 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a348 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a349 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a350 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a351 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a352 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a353 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a354 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a355 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a356 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a357 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
check zone=1 order=2 mark=min highest=Movable flags=highatomic

# phase released: the reserve is given back, first all but its last pageblock
unreserve cpu=0 to=Movable
unreserve cpu=1 to=Unmovable force
check zone=1 order=0 mark=min highest=Movable flags=oom
reclaim-active zone=1 off

# phase back: all is freed and drained
free cpu=0 a20
free cpu=0 a274
free cpu=0 a102
free cpu=1 a195
free cpu=1 a329
free cpu=0 a88
free cpu=1 a89
free cpu=1 a173
free cpu=1 a243
free cpu=0 a258
free cpu=0 a66
free cpu=0 a18
free cpu=0 a194
free cpu=0 a154
free cpu=0 a346
free cpu=1 a149
free cpu=0 a136
free cpu=0 a252
free cpu=0 a352
free cpu=0 a152
free cpu=0 a10
free cpu=0 a72
free cpu=1 a331
free cpu=1 a97
free cpu=0 a244
free cpu=0 a196
free cpu=0 a90
free cpu=0 a82
free cpu=0 a68
free cpu=0 a86
free cpu=1 a245
free cpu=1 a309
free cpu=1 a79
free cpu=0 a56
free cpu=1 a305
free cpu=0 a170
free cpu=0 a284
free cpu=1 a107
free cpu=0 a16
free cpu=1 a225
free cpu=1 a233
free cpu=0 a272
free cpu=1 a165
free cpu=0 a318
free cpu=0 a302
free cpu=1 a313
free cpu=1 a193
free cpu=1 a115
free cpu=0 a338
free cpu=0 a106
free cpu=0 a316
free cpu=1 a161
free cpu=0 a268
free cpu=1 a273
free cpu=1 a293
free cpu=0 a332
free cpu=0 a288
free cpu=1 a231
free cpu=0 a108
free cpu=0 a46
free cpu=1 a269
free cpu=1 a259
free cpu=0 a26
free cpu=0 a118
free cpu=0 a240
free cpu=0 a218
free cpu=1 a239
free cpu=0 a214
free cpu=0 a162
free cpu=0 a232
free cpu=1 a117
free cpu=0 a186
free cpu=1 a265
free cpu=1 a83
free cpu=0 a310
free cpu=0 a354
free cpu=1 a177
free cpu=1 a223
free cpu=0 a96
free cpu=1 a299
free cpu=0 a324
free cpu=1 a169
free cpu=1 a253
free cpu=1 a287
free cpu=1 a213
free cpu=1 a131
free cpu=1 a135
free cpu=0 a24
free cpu=0 a114
free cpu=0 a164
free cpu=1 a315
free cpu=1 a201
free cpu=0 a260
free cpu=1 a181
free cpu=1 a147
free cpu=1 a151
free cpu=1 a251
free cpu=0 a166
free cpu=0 a6
free cpu=0 a98
free cpu=0 a224
free cpu=0 a248
free cpu=1 a143
free cpu=0 a230
free cpu=1 a191
free cpu=0 a238
free cpu=1 a127
free cpu=1 a167
free cpu=0 a160
free cpu=0 a282
free cpu=1 a71
free cpu=1 a171
free cpu=1 a93
free cpu=1 a257
free cpu=0 a94
free cpu=0 a140
free cpu=0 a30
free cpu=1 a183
free cpu=0 a290
free cpu=0 a198
free cpu=0 a356
free cpu=0 a344
free cpu=1 a187
free cpu=0 a190
free cpu=1 a279
free cpu=1 a277
free cpu=0 a110
free cpu=0 a216
free cpu=0 a38
free cpu=0 a14
free cpu=1 a125
free cpu=0 a328
free cpu=1 a205
free cpu=0 a2
free cpu=0 a276
free cpu=0 a296
free cpu=1 a271
free cpu=0 a58
free cpu=1 a297
free cpu=0 a144
free cpu=1 a85
free cpu=1 a263
free cpu=1 a351
free cpu=1 a275
free cpu=0 a266
free cpu=0 a340
free cpu=0 a54
free cpu=1 a199
free cpu=1 a229
free cpu=1 a281
free cpu=0 a226
free cpu=1 a175
free cpu=1 a303
free cpu=0 a28
free cpu=1 a163
free cpu=1 a311
free cpu=1 a113
free cpu=0 a176
free cpu=1 a237
free cpu=0 a126
free cpu=0 a168
free cpu=1 a283
free cpu=1 a347
free cpu=0 a4
free cpu=1 a289
free cpu=1 a99
free cpu=1 a339
free cpu=0 a182
free cpu=0 a298
free cpu=0 a8
free cpu=0 a204
free cpu=0 a200
free cpu=1 a295
free cpu=0 a208
free cpu=1 a77
free cpu=0 a44
free cpu=0 a320
free cpu=1 a91
free cpu=1 a129
free cpu=1 a337
free cpu=1 a123
free cpu=0 a138
free cpu=0 a212
free cpu=1 a343
free cpu=0 a220
free cpu=0 a142
free cpu=1 a341
free cpu=1 a103
free cpu=0 a172
free cpu=0 a134
free cpu=0 a262
free cpu=0 a74
free cpu=0 a42
free cpu=1 a267
free cpu=0 a132
free cpu=1 a133
free cpu=0 a334
free cpu=1 a221
free cpu=1 a65
free cpu=1 a335
free cpu=0 a228
free cpu=1 a87
free cpu=1 a255
free cpu=0 a158
free cpu=0 a348
free cpu=0 a188
free cpu=1 a75
free cpu=0 a122
free cpu=0 a150
free cpu=0 a12
free cpu=0 a120
free cpu=0 a280
free cpu=0 a130
free cpu=1 a215
free cpu=0 a104
free cpu=1 a333
free cpu=0 a242
free cpu=0 a206
free cpu=0 a292
free cpu=1 a357
free cpu=1 a111
free cpu=1 a211
free cpu=0 a350
free cpu=0 a32
free cpu=0 a34
free cpu=0 a202
free cpu=0 a210
free cpu=1 a153
free cpu=1 a101
free cpu=0 a326
free cpu=1 a247
free cpu=0 a36
free cpu=0 a148
free cpu=0 a236
free cpu=1 a323
free cpu=0 a300
free cpu=0 a184
free cpu=1 a121
free cpu=1 a209
free cpu=1 a119
free cpu=0 a112
free cpu=1 a241
free cpu=0 a256
free cpu=1 a355
free cpu=0 a178
free cpu=0 a174
free cpu=1 a227
free cpu=1 a345
free cpu=1 a203
free cpu=0 a278
free cpu=0 a22
free cpu=1 a139
free cpu=1 a157
free cpu=1 a307
free cpu=0 a70
free cpu=0 a294
free cpu=0 a116
free cpu=0 a322
free cpu=1 a319
free cpu=1 a353
free cpu=1 a179
free cpu=1 a261
free cpu=1 a207
free cpu=1 a285
free cpu=1 a301
free cpu=1 a73
free cpu=0 a156
free cpu=1 a325
free cpu=1 a159
free cpu=1 a185
free cpu=1 a217
free cpu=0 a264
free cpu=0 a270
free cpu=0 a192
free cpu=0 a250
free cpu=0 a304
free cpu=0 a286
free cpu=1 a137
free cpu=0 a336
free cpu=0 a64
free cpu=0 a312
free cpu=1 a81
free cpu=0 a222
free cpu=0 a128
free cpu=0 a84
free cpu=0 a124
free cpu=1 a189
free cpu=0 a92
free cpu=0 a308
free cpu=1 a105
free cpu=0 a342
free cpu=0 a180
free cpu=0 a100
free cpu=1 a317
free cpu=0 a48
free cpu=1 a145
free cpu=0 a52
free cpu=1 a235
free cpu=1 a327
free cpu=1 a63
free cpu=1 a349
free cpu=0 a146
free cpu=1 a95
free cpu=1 a321
free cpu=1 a61
free cpu=1 a249
free cpu=0 a314
free cpu=0 a78
free cpu=1 a155
free cpu=1 a67
free cpu=0 a246
free cpu=0 a254
free cpu=0 a76
free cpu=0 a40
free cpu=1 a141
free cpu=1 a291
free cpu=0 a60
free cpu=0 a330
free cpu=1 a219
free cpu=0 a80
free cpu=0 a306
free cpu=1 a69
free cpu=0 a50
free cpu=0 a234
free cpu=1 a109
free cpu=1 a197
tick cpu=0
tick cpu=1
drain-all by=1
unisolate cpu=0 pfn=0x310 to=Movable
