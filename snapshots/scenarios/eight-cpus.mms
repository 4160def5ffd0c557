mms 1
# Eight CPUs, a Movable zone, CPUs that leave and return, and sysctls written at run time.
machine cpus=8
zone DMA32 0x1000..0x9000
zone Normal 0x100000..0x140000
zone Movable 0x140000..0x160000
reserved 0x1000..0x1200
reserved 0x100000..0x103000
rules linux_6_12

# phase spread: every CPU takes from every zone
a1 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a2 = alloc cpu=0 order=2 gfp=GFP_KERNEL
a3 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a4 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a5 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a6 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a7 = alloc cpu=0 order=0 gfp=GFP_KERNEL|GFP_DMA32
a8 = alloc cpu=0 order=2 gfp=GFP_KERNEL|GFP_DMA32
a9 = alloc cpu=0 order=3 gfp=GFP_KERNEL|GFP_DMA32
a10 a11 a12 = bulk cpu=0 gfp=GFP_HIGHUSER_MOVABLE
a13 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a14 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a15 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a16 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a17 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a18 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a19 = alloc cpu=1 order=0 gfp=GFP_KERNEL|GFP_DMA32
a20 = alloc cpu=1 order=2 gfp=GFP_KERNEL|GFP_DMA32
a21 = alloc cpu=1 order=3 gfp=GFP_KERNEL|GFP_DMA32
a22 a23 a24 = bulk cpu=1 gfp=GFP_HIGHUSER_MOVABLE
a25 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a26 = alloc cpu=2 order=2 gfp=GFP_KERNEL
a27 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a28 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a29 = alloc cpu=2 order=2 gfp=GFP_HIGHUSER_MOVABLE
a30 = alloc cpu=2 order=3 gfp=GFP_HIGHUSER_MOVABLE
a31 = alloc cpu=2 order=0 gfp=GFP_KERNEL|GFP_DMA32
a32 = alloc cpu=2 order=2 gfp=GFP_KERNEL|GFP_DMA32
a33 = alloc cpu=2 order=3 gfp=GFP_KERNEL|GFP_DMA32
a34 a35 a36 = bulk cpu=2 gfp=GFP_HIGHUSER_MOVABLE
a37 = alloc cpu=3 order=0 gfp=GFP_KERNEL
a38 = alloc cpu=3 order=2 gfp=GFP_KERNEL
a39 = alloc cpu=3 order=3 gfp=GFP_KERNEL
a40 = alloc cpu=3 order=0 gfp=GFP_HIGHUSER_MOVABLE
a41 = alloc cpu=3 order=2 gfp=GFP_HIGHUSER_MOVABLE
a42 = alloc cpu=3 order=3 gfp=GFP_HIGHUSER_MOVABLE
a43 = alloc cpu=3 order=0 gfp=GFP_KERNEL|GFP_DMA32
a44 = alloc cpu=3 order=2 gfp=GFP_KERNEL|GFP_DMA32
a45 = alloc cpu=3 order=3 gfp=GFP_KERNEL|GFP_DMA32
a46 a47 a48 = bulk cpu=3 gfp=GFP_HIGHUSER_MOVABLE
a49 = alloc cpu=4 order=0 gfp=GFP_KERNEL
a50 = alloc cpu=4 order=2 gfp=GFP_KERNEL
a51 = alloc cpu=4 order=3 gfp=GFP_KERNEL
a52 = alloc cpu=4 order=0 gfp=GFP_HIGHUSER_MOVABLE
a53 = alloc cpu=4 order=2 gfp=GFP_HIGHUSER_MOVABLE
a54 = alloc cpu=4 order=3 gfp=GFP_HIGHUSER_MOVABLE
a55 = alloc cpu=4 order=0 gfp=GFP_KERNEL|GFP_DMA32
a56 = alloc cpu=4 order=2 gfp=GFP_KERNEL|GFP_DMA32
a57 = alloc cpu=4 order=3 gfp=GFP_KERNEL|GFP_DMA32
a58 a59 a60 = bulk cpu=4 gfp=GFP_HIGHUSER_MOVABLE
a61 = alloc cpu=5 order=0 gfp=GFP_KERNEL
a62 = alloc cpu=5 order=2 gfp=GFP_KERNEL
a63 = alloc cpu=5 order=3 gfp=GFP_KERNEL
a64 = alloc cpu=5 order=0 gfp=GFP_HIGHUSER_MOVABLE
a65 = alloc cpu=5 order=2 gfp=GFP_HIGHUSER_MOVABLE
a66 = alloc cpu=5 order=3 gfp=GFP_HIGHUSER_MOVABLE
a67 = alloc cpu=5 order=0 gfp=GFP_KERNEL|GFP_DMA32
a68 = alloc cpu=5 order=2 gfp=GFP_KERNEL|GFP_DMA32
a69 = alloc cpu=5 order=3 gfp=GFP_KERNEL|GFP_DMA32
a70 a71 a72 = bulk cpu=5 gfp=GFP_HIGHUSER_MOVABLE
a73 = alloc cpu=6 order=0 gfp=GFP_KERNEL
a74 = alloc cpu=6 order=2 gfp=GFP_KERNEL
a75 = alloc cpu=6 order=3 gfp=GFP_KERNEL
a76 = alloc cpu=6 order=0 gfp=GFP_HIGHUSER_MOVABLE
a77 = alloc cpu=6 order=2 gfp=GFP_HIGHUSER_MOVABLE
a78 = alloc cpu=6 order=3 gfp=GFP_HIGHUSER_MOVABLE
a79 = alloc cpu=6 order=0 gfp=GFP_KERNEL|GFP_DMA32
a80 = alloc cpu=6 order=2 gfp=GFP_KERNEL|GFP_DMA32
a81 = alloc cpu=6 order=3 gfp=GFP_KERNEL|GFP_DMA32
a82 a83 a84 = bulk cpu=6 gfp=GFP_HIGHUSER_MOVABLE
a85 = alloc cpu=7 order=0 gfp=GFP_KERNEL
a86 = alloc cpu=7 order=2 gfp=GFP_KERNEL
a87 = alloc cpu=7 order=3 gfp=GFP_KERNEL
a88 = alloc cpu=7 order=0 gfp=GFP_HIGHUSER_MOVABLE
a89 = alloc cpu=7 order=2 gfp=GFP_HIGHUSER_MOVABLE
a90 = alloc cpu=7 order=3 gfp=GFP_HIGHUSER_MOVABLE
a91 = alloc cpu=7 order=0 gfp=GFP_KERNEL|GFP_DMA32
a92 = alloc cpu=7 order=2 gfp=GFP_KERNEL|GFP_DMA32
a93 = alloc cpu=7 order=3 gfp=GFP_KERNEL|GFP_DMA32
a94 a95 a96 = bulk cpu=7 gfp=GFP_HIGHUSER_MOVABLE

# phase remote: each CPU frees what its neighbour took; two CPUs leave
free cpu=1 a1
free cpu=3 a3
free cpu=5 a5
free cpu=7 a7
free cpu=1 a9
free cpu=3 a11
free cpu=5 a13
free cpu=7 a15
free cpu=1 a17
free cpu=3 a19
free cpu=5 a21
free cpu=7 a23
free cpu=1 a25
free cpu=3 a27
free cpu=5 a29
free cpu=7 a31
free cpu=1 a33
free cpu=3 a35
free cpu=5 a37
free cpu=7 a39
free cpu=1 a41
free cpu=3 a43
free cpu=5 a45
free cpu=7 a47
free cpu=1 a49
free cpu=3 a51
free cpu=5 a53
free cpu=7 a55
free cpu=1 a57
free cpu=3 a59
free cpu=5 a61
free cpu=7 a63
free cpu=1 a65
free cpu=3 a67
free cpu=5 a69
free cpu=7 a71
free cpu=1 a73
free cpu=3 a75
free cpu=5 a77
free cpu=7 a79
free cpu=1 a81
free cpu=3 a83
free cpu=5 a85
free cpu=7 a87
free cpu=1 a89
free cpu=3 a91
free cpu=5 a93
free cpu=7 a95
cpu-dead by=0 cpu=7
cpu-dead by=1 cpu=3

# phase tuned: smaller lists by fraction, then wider marks without boosts
set percpu_pagelist_high_fraction=512 watermark_scale_factor=50
a97 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a98 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a99 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a100 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a101 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a102 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a103 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a104 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a105 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a106 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a107 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a108 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a109 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a110 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a111 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a112 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a113 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a114 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a115 = alloc cpu=4 order=0 gfp=GFP_KERNEL
a116 = alloc cpu=4 order=0 gfp=GFP_HIGHUSER_MOVABLE
a117 = alloc cpu=4 order=0 gfp=GFP_KERNEL
a118 = alloc cpu=4 order=0 gfp=GFP_HIGHUSER_MOVABLE
a119 = alloc cpu=4 order=0 gfp=GFP_KERNEL
a120 = alloc cpu=4 order=0 gfp=GFP_HIGHUSER_MOVABLE
a121 = alloc cpu=5 order=0 gfp=GFP_KERNEL
a122 = alloc cpu=5 order=0 gfp=GFP_HIGHUSER_MOVABLE
a123 = alloc cpu=5 order=0 gfp=GFP_KERNEL
a124 = alloc cpu=5 order=0 gfp=GFP_HIGHUSER_MOVABLE
a125 = alloc cpu=5 order=0 gfp=GFP_KERNEL
a126 = alloc cpu=5 order=0 gfp=GFP_HIGHUSER_MOVABLE
a127 = alloc cpu=6 order=0 gfp=GFP_KERNEL
a128 = alloc cpu=6 order=0 gfp=GFP_HIGHUSER_MOVABLE
a129 = alloc cpu=6 order=0 gfp=GFP_KERNEL
a130 = alloc cpu=6 order=0 gfp=GFP_HIGHUSER_MOVABLE
a131 = alloc cpu=6 order=0 gfp=GFP_KERNEL
a132 = alloc cpu=6 order=0 gfp=GFP_HIGHUSER_MOVABLE
tick cpu=2
tick cpu=4

# phase taken: Movable and Normal are filled with large blocks; unmovable requests steal
a133 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a134 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a135 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a136 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a137 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a138 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a139 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a140 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a141 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a142 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a143 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a144 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a145 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a146 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a147 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a148 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a149 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a150 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a151 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a152 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a153 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a154 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a155 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a156 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a157 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a158 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a159 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a160 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a161 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a162 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a163 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a164 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a165 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a166 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a167 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a168 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a169 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a170 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a171 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a172 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a173 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a174 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a175 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a176 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a177 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a178 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a179 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a180 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a181 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a182 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a183 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a184 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a185 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a186 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a187 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a188 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a189 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a190 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a191 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a192 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a193 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a194 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a195 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a196 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a197 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a198 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a199 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a200 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a201 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a202 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a203 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a204 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a205 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a206 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a207 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a208 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a209 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a210 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a211 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a212 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a213 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a214 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a215 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a216 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a217 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a218 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a219 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a220 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a221 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a222 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a223 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a224 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a225 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a226 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a227 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a228 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a229 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a230 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a231 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a232 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a233 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a234 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a235 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a236 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a237 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a238 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a239 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a240 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a241 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a242 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a243 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a244 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a245 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a246 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a247 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a248 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a249 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a250 = alloc cpu=4 order=10 gfp=GFP_HIGHUSER_MOVABLE
a251 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a252 = alloc cpu=6 order=10 gfp=GFP_HIGHUSER_MOVABLE
a253 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a254 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a255 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a256 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a257 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a258 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a259 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a260 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a261 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a262 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a263 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a264 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a265 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a266 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a267 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a268 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a269 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a270 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a271 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a272 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a273 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a274 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a275 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a276 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a277 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a278 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a279 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a280 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a281 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a282 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a283 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a284 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a285 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a286 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a287 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a288 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a289 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a290 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a291 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a292 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a293 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a294 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a295 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a296 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a297 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a298 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a299 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a300 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a301 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a302 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a303 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a304 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a305 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a306 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a307 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a308 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a309 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a310 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a311 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a312 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a313 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a314 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a315 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a316 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a317 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a318 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a319 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a320 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a321 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a322 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a323 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a324 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a325 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a326 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a327 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a328 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a329 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a330 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a331 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a332 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a333 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a334 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a335 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a336 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a337 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a338 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a339 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a340 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a341 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a342 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a343 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a344 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a345 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a346 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a347 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a348 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a349 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a350 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a351 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a352 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a353 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a354 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a355 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a356 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a357 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a358 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a359 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a360 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a361 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a362 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a363 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a364 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a365 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a366 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a367 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a368 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a369 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a370 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a371 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a372 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a373 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a374 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a375 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a376 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a377 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a378 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a379 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a380 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a381 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a382 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a383 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a384 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a385 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a386 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a387 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a388 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a389 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a390 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a391 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a392 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a393 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a394 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a395 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a396 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a397 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a398 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a399 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a400 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a401 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a402 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a403 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a404 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a405 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a406 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a407 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a408 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a409 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a410 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a411 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a412 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a413 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a414 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a415 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a416 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a417 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a418 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a419 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a420 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a421 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a422 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a423 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a424 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a425 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a426 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a427 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a428 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a429 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a430 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a431 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a432 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a433 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a434 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a435 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a436 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a437 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a438 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a439 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a440 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a441 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a442 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a443 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a444 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a445 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a446 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a447 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a448 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a449 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a450 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a451 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a452 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a453 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a454 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a455 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a456 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a457 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a458 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a459 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a460 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a461 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a462 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a463 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a464 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a465 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a466 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a467 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a468 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a469 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a470 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a471 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a472 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a473 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a474 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a475 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a476 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a477 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a478 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a479 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a480 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a481 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a482 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a483 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a484 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a485 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a486 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a487 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a488 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a489 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a490 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a491 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a492 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a493 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a494 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a495 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a496 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a497 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a498 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a499 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a500 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a501 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a502 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a503 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a504 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a505 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a506 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a507 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a508 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a509 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a510 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a511 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a512 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a513 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a514 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a515 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a516 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a517 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a518 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a519 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a520 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a521 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a522 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a523 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a524 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a525 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a526 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a527 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a528 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a529 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a530 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a531 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a532 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a533 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a534 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a535 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a536 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a537 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a538 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a539 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a540 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a541 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a542 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a543 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a544 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a545 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a546 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a547 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a548 = alloc cpu=1 order=10 gfp=GFP_KERNEL
a549 = alloc cpu=2 order=10 gfp=GFP_HIGHUSER_MOVABLE
a550 = alloc cpu=4 order=10 gfp=GFP_KERNEL
a551 = alloc cpu=5 order=10 gfp=GFP_HIGHUSER_MOVABLE
a552 = alloc cpu=6 order=10 gfp=GFP_KERNEL
a553 = alloc cpu=0 order=5 gfp=GFP_KERNEL
a554 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a555 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a556 = alloc cpu=4 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a557 = alloc cpu=5 order=5 gfp=GFP_KERNEL
a558 = alloc cpu=6 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a559 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a560 = alloc cpu=1 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a561 = alloc cpu=2 order=5 gfp=GFP_KERNEL
a562 = alloc cpu=4 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a563 = alloc cpu=5 order=3 gfp=GFP_KERNEL
a564 = alloc cpu=6 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a565 = alloc cpu=0 order=5 gfp=GFP_KERNEL
a566 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a567 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a568 = alloc cpu=4 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a569 = alloc cpu=5 order=5 gfp=GFP_KERNEL
a570 = alloc cpu=6 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a571 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a572 = alloc cpu=1 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a573 = alloc cpu=2 order=5 gfp=GFP_KERNEL
a574 = alloc cpu=4 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a575 = alloc cpu=5 order=3 gfp=GFP_KERNEL
a576 = alloc cpu=6 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a577 = alloc cpu=0 order=5 gfp=GFP_KERNEL
a578 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a579 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a580 = alloc cpu=4 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a581 = alloc cpu=5 order=5 gfp=GFP_KERNEL
a582 = alloc cpu=6 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a583 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a584 = alloc cpu=1 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a585 = alloc cpu=2 order=5 gfp=GFP_KERNEL
a586 = alloc cpu=4 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a587 = alloc cpu=5 order=3 gfp=GFP_KERNEL
a588 = alloc cpu=6 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a589 = alloc cpu=0 order=5 gfp=GFP_KERNEL
a590 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a591 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a592 = alloc cpu=4 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE

# phase back: the CPUs return, all is freed on whichever CPU comes next
set percpu_pagelist_high_fraction=0 watermark_scale_factor=10
cpu-online cpu=3
cpu-online cpu=7
free cpu=0 a590
free cpu=1 a115
free cpu=2 a573
free cpu=3 a80
free cpu=4 a495
free cpu=5 a507
free cpu=6 a16
free cpu=7 a2
free cpu=0 a188
free cpu=1 a564
free cpu=2 a506
free cpu=3 a382
free cpu=4 a133
free cpu=5 a286
free cpu=6 a514
free cpu=7 a26
free cpu=0 a377
free cpu=1 a524
free cpu=2 a264
free cpu=3 a420
free cpu=4 a101
free cpu=5 a355
free cpu=6 a540
free cpu=7 a139
free cpu=0 a570
free cpu=1 a488
free cpu=2 a361
free cpu=3 a100
free cpu=4 a102
free cpu=5 a285
free cpu=6 a512
free cpu=7 a475
free cpu=0 a553
free cpu=1 a211
free cpu=2 a226
free cpu=3 a438
free cpu=4 a247
free cpu=5 a458
free cpu=6 a478
free cpu=7 a237
free cpu=0 a404
free cpu=1 a425
free cpu=2 a538
free cpu=3 a273
free cpu=4 a199
free cpu=5 a107
free cpu=6 a426
free cpu=7 a518
free cpu=0 a145
free cpu=1 a395
free cpu=2 a212
free cpu=3 a393
free cpu=4 a184
free cpu=5 a569
free cpu=6 a324
free cpu=7 a430
free cpu=0 a206
free cpu=1 a330
free cpu=2 a421
free cpu=3 a370
free cpu=4 a400
free cpu=5 a472
free cpu=6 a175
free cpu=7 a552
free cpu=0 a469
free cpu=1 a126
free cpu=2 a398
free cpu=3 a384
free cpu=4 a424
free cpu=5 a62
free cpu=6 a335
free cpu=7 a401
free cpu=0 a371
free cpu=1 a417
free cpu=2 a289
free cpu=3 a210
free cpu=4 a443
free cpu=5 a429
free cpu=6 a409
free cpu=7 a332
free cpu=0 a376
free cpu=1 a339
free cpu=2 a460
free cpu=3 a129
free cpu=4 a508
free cpu=5 a565
free cpu=6 a423
free cpu=7 a123
free cpu=0 a327
free cpu=1 a451
free cpu=2 a22
free cpu=3 a414
free cpu=4 a406
free cpu=5 a38
free cpu=6 a180
free cpu=7 a351
free cpu=0 a323
free cpu=1 a268
free cpu=2 a383
free cpu=3 a577
free cpu=4 a172
free cpu=5 a181
free cpu=6 a447
free cpu=7 a10
free cpu=0 a162
free cpu=1 a311
free cpu=2 a432
free cpu=3 a109
free cpu=4 a464
free cpu=5 a232
free cpu=6 a490
free cpu=7 a581
free cpu=0 a147
free cpu=1 a442
free cpu=2 a266
free cpu=3 a260
free cpu=4 a504
free cpu=5 a583
free cpu=6 a76
free cpu=7 a227
free cpu=0 a168
free cpu=1 a320
free cpu=2 a479
free cpu=3 a575
free cpu=4 a493
free cpu=5 a300
free cpu=6 a294
free cpu=7 a119
free cpu=0 a292
free cpu=1 a170
free cpu=2 a117
free cpu=3 a394
free cpu=4 a363
free cpu=5 a528
free cpu=6 a174
free cpu=7 a144
free cpu=0 a230
free cpu=1 a544
free cpu=2 a122
free cpu=3 a407
free cpu=4 a32
free cpu=5 a483
free cpu=6 a70
free cpu=7 a578
free cpu=0 a550
free cpu=1 a153
free cpu=2 a523
free cpu=3 a502
free cpu=4 a373
free cpu=5 a68
free cpu=6 a525
free cpu=7 a219
free cpu=0 a338
free cpu=1 a592
free cpu=2 a171
free cpu=3 a177
free cpu=4 a301
free cpu=5 a218
free cpu=6 a415
free cpu=7 a192
free cpu=0 a374
free cpu=1 a217
free cpu=2 a191
free cpu=3 a30
free cpu=4 a467
free cpu=5 a283
free cpu=6 a287
free cpu=7 a135
free cpu=0 a92
free cpu=1 a331
free cpu=2 a249
free cpu=3 a239
free cpu=4 a482
free cpu=5 a375
free cpu=6 a559
free cpu=7 a159
free cpu=0 a78
free cpu=1 a389
free cpu=2 a114
free cpu=3 a229
free cpu=4 a343
free cpu=5 a160
free cpu=6 a558
free cpu=7 a403
free cpu=0 a554
free cpu=1 a182
free cpu=2 a253
free cpu=3 a353
free cpu=4 a390
free cpu=5 a532
free cpu=6 a105
free cpu=7 a413
free cpu=0 a418
free cpu=1 a454
free cpu=2 a568
free cpu=3 a293
free cpu=4 a536
free cpu=5 a142
free cpu=6 a254
free cpu=7 a271
free cpu=0 a279
free cpu=1 a20
free cpu=2 a431
free cpu=3 a517
free cpu=4 a491
free cpu=5 a278
free cpu=6 a405
free cpu=7 a204
free cpu=0 a427
free cpu=1 a48
free cpu=2 a193
free cpu=3 a541
free cpu=4 a220
free cpu=5 a295
free cpu=6 a453
free cpu=7 a50
free cpu=0 a46
free cpu=1 a116
free cpu=2 a457
free cpu=3 a465
free cpu=4 a205
free cpu=5 a12
free cpu=6 a314
free cpu=7 a547
free cpu=0 a367
free cpu=1 a158
free cpu=2 a520
free cpu=3 a284
free cpu=4 a439
free cpu=5 a216
free cpu=6 a44
free cpu=7 a537
free cpu=0 a58
free cpu=1 a326
free cpu=2 a56
free cpu=3 a248
free cpu=4 a176
free cpu=5 a143
free cpu=6 a99
free cpu=7 a261
free cpu=0 a183
free cpu=1 a477
free cpu=2 a256
free cpu=3 a576
free cpu=4 a497
free cpu=5 a364
free cpu=6 a357
free cpu=7 a240
free cpu=0 a589
free cpu=1 a471
free cpu=2 a112
free cpu=3 a296
free cpu=4 a396
free cpu=5 a141
free cpu=6 a392
free cpu=7 a259
free cpu=0 a190
free cpu=1 a316
free cpu=2 a309
free cpu=3 a198
free cpu=4 a585
free cpu=5 a494
free cpu=6 a341
free cpu=7 a187
free cpu=0 a412
free cpu=1 a560
free cpu=2 a132
free cpu=3 a186
free cpu=4 a446
free cpu=5 a492
free cpu=6 a535
free cpu=7 a333
free cpu=0 a579
free cpu=1 a234
free cpu=2 a336
free cpu=3 a317
free cpu=4 a354
free cpu=5 a252
free cpu=6 a445
free cpu=7 a154
free cpu=0 a208
free cpu=1 a557
free cpu=2 a360
free cpu=3 a297
free cpu=4 a352
free cpu=5 a372
free cpu=6 a344
free cpu=7 a526
free cpu=0 a203
free cpu=1 a546
free cpu=2 a347
free cpu=3 a238
free cpu=4 a582
free cpu=5 a329
free cpu=6 a527
free cpu=7 a349
free cpu=0 a397
free cpu=1 a255
free cpu=2 a213
free cpu=3 a82
free cpu=4 a485
free cpu=5 a197
free cpu=6 a8
free cpu=7 a149
free cpu=0 a436
free cpu=1 a574
free cpu=2 a435
free cpu=3 a214
free cpu=4 a166
free cpu=5 a305
free cpu=6 a399
free cpu=7 a455
free cpu=0 a505
free cpu=1 a369
free cpu=2 a96
free cpu=3 a499
free cpu=4 a270
free cpu=5 a235
free cpu=6 a24
free cpu=7 a362
free cpu=0 a515
free cpu=1 a6
free cpu=2 a157
free cpu=3 a391
free cpu=4 a106
free cpu=5 a449
free cpu=6 a52
free cpu=7 a503
free cpu=0 a54
free cpu=1 a164
free cpu=2 a529
free cpu=3 a434
free cpu=4 a250
free cpu=5 a450
free cpu=6 a290
free cpu=7 a94
free cpu=0 a312
free cpu=1 a274
free cpu=2 a561
free cpu=3 a380
free cpu=4 a280
free cpu=5 a543
free cpu=6 a556
free cpu=7 a111
free cpu=0 a244
free cpu=1 a128
free cpu=2 a291
free cpu=3 a549
free cpu=4 a163
free cpu=5 a591
free cpu=6 a151
free cpu=7 a86
free cpu=0 a419
free cpu=1 a275
free cpu=2 a269
free cpu=3 a221
free cpu=4 a572
free cpu=5 a137
free cpu=6 a530
free cpu=7 a34
free cpu=0 a365
free cpu=1 a580
free cpu=2 a156
free cpu=3 a304
free cpu=4 a379
free cpu=5 a4
free cpu=6 a236
free cpu=7 a215
free cpu=0 a228
free cpu=1 a463
free cpu=2 a110
free cpu=3 a342
free cpu=4 a386
free cpu=5 a588
free cpu=6 a223
free cpu=7 a452
free cpu=0 a18
free cpu=1 a146
free cpu=2 a539
free cpu=3 a358
free cpu=4 a501
free cpu=5 a411
free cpu=6 a298
free cpu=7 a307
free cpu=0 a127
free cpu=1 a233
free cpu=2 a318
free cpu=3 a315
free cpu=4 a103
free cpu=5 a468
free cpu=6 a88
free cpu=7 a481
free cpu=0 a97
free cpu=1 a416
free cpu=2 a196
free cpu=3 a72
free cpu=4 a350
free cpu=5 a84
free cpu=6 a474
free cpu=7 a257
free cpu=0 a277
free cpu=1 a337
free cpu=2 a258
free cpu=3 a120
free cpu=4 a167
free cpu=5 a272
free cpu=6 a340
free cpu=7 a586
free cpu=0 a484
free cpu=1 a243
free cpu=2 a516
free cpu=3 a456
free cpu=4 a521
free cpu=5 a470
free cpu=6 a202
free cpu=7 a131
free cpu=0 a441
free cpu=1 a152
free cpu=2 a28
free cpu=3 a388
free cpu=4 a134
free cpu=5 a108
free cpu=6 a251
free cpu=7 a496
free cpu=0 a138
free cpu=1 a262
free cpu=2 a410
free cpu=3 a476
free cpu=4 a201
free cpu=5 a241
free cpu=6 a179
free cpu=7 a265
free cpu=0 a36
free cpu=1 a185
free cpu=2 a531
free cpu=3 a224
free cpu=4 a200
free cpu=5 a14
free cpu=6 a173
free cpu=7 a225
free cpu=0 a161
free cpu=1 a328
free cpu=2 a571
free cpu=3 a308
free cpu=4 a487
free cpu=5 a542
free cpu=6 a74
free cpu=7 a385
free cpu=0 a310
free cpu=1 a194
free cpu=2 a319
free cpu=3 a509
free cpu=4 a125
free cpu=5 a207
free cpu=6 a150
free cpu=7 a368
free cpu=0 a306
free cpu=1 a584
free cpu=2 a480
free cpu=3 a378
free cpu=4 a522
free cpu=5 a566
free cpu=6 a209
free cpu=7 a551
free cpu=0 a321
free cpu=1 a98
free cpu=2 a356
free cpu=3 a440
free cpu=4 a130
free cpu=5 a118
free cpu=6 a267
free cpu=7 a498
free cpu=0 a486
free cpu=1 a231
free cpu=2 a334
free cpu=3 a195
free cpu=4 a276
free cpu=5 a500
free cpu=6 a348
free cpu=7 a422
free cpu=0 a282
free cpu=1 a345
free cpu=2 a489
free cpu=3 a124
free cpu=4 a562
free cpu=5 a408
free cpu=6 a299
free cpu=7 a40
free cpu=0 a533
free cpu=1 a325
free cpu=2 a66
free cpu=3 a359
free cpu=4 a121
free cpu=5 a462
free cpu=6 a346
free cpu=7 a155
free cpu=0 a510
free cpu=1 a563
free cpu=2 a381
free cpu=3 a511
free cpu=4 a303
free cpu=5 a587
free cpu=6 a402
free cpu=7 a169
free cpu=0 a222
free cpu=1 a60
free cpu=2 a387
free cpu=3 a104
free cpu=4 a242
free cpu=5 a473
free cpu=6 a366
free cpu=7 a444
free cpu=0 a113
free cpu=1 a148
free cpu=2 a313
free cpu=3 a165
free cpu=4 a437
free cpu=5 a534
free cpu=6 a466
free cpu=7 a322
free cpu=0 a42
free cpu=1 a288
free cpu=2 a545
free cpu=3 a140
free cpu=4 a461
free cpu=5 a245
free cpu=6 a555
free cpu=7 a448
free cpu=0 a513
free cpu=1 a548
free cpu=2 a519
free cpu=3 a64
free cpu=4 a459
free cpu=5 a263
free cpu=6 a567
free cpu=7 a302
free cpu=0 a189
free cpu=1 a136
free cpu=2 a90
free cpu=3 a246
free cpu=4 a178
free cpu=5 a433
free cpu=6 a428
free cpu=7 a281
tick cpu=0
tick cpu=1
tick cpu=2
tick cpu=3
tick cpu=4
tick cpu=5
tick cpu=6
tick cpu=7
drain-all by=3
