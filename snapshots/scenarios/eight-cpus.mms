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
a393 = alloc cpu=0 order=5 gfp=GFP_KERNEL
a394 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a395 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a396 = alloc cpu=4 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a397 = alloc cpu=5 order=5 gfp=GFP_KERNEL
a398 = alloc cpu=6 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a399 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a400 = alloc cpu=1 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a401 = alloc cpu=2 order=5 gfp=GFP_KERNEL
a402 = alloc cpu=4 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a403 = alloc cpu=5 order=3 gfp=GFP_KERNEL
a404 = alloc cpu=6 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a405 = alloc cpu=0 order=5 gfp=GFP_KERNEL
a406 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a407 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a408 = alloc cpu=4 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a409 = alloc cpu=5 order=5 gfp=GFP_KERNEL
a410 = alloc cpu=6 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a411 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a412 = alloc cpu=1 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a413 = alloc cpu=2 order=5 gfp=GFP_KERNEL
a414 = alloc cpu=4 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a415 = alloc cpu=5 order=3 gfp=GFP_KERNEL
a416 = alloc cpu=6 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a417 = alloc cpu=0 order=5 gfp=GFP_KERNEL
a418 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a419 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a420 = alloc cpu=4 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a421 = alloc cpu=5 order=5 gfp=GFP_KERNEL
a422 = alloc cpu=6 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a423 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a424 = alloc cpu=1 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a425 = alloc cpu=2 order=5 gfp=GFP_KERNEL
a426 = alloc cpu=4 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a427 = alloc cpu=5 order=3 gfp=GFP_KERNEL
a428 = alloc cpu=6 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a429 = alloc cpu=0 order=5 gfp=GFP_KERNEL
a430 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a431 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a432 = alloc cpu=4 order=7 gfp=GFP_KERNEL|__GFP_RECLAIMABLE

# phase back: the CPUs return, all is freed on whichever CPU comes next
set percpu_pagelist_high_fraction=0 watermark_scale_factor=10
cpu-online cpu=3
cpu-online cpu=7
free cpu=0 a133
free cpu=1 a307
free cpu=2 a392
free cpu=3 a279
free cpu=4 a415
free cpu=5 a317
free cpu=6 a137
free cpu=7 a54
free cpu=0 a139
free cpu=1 a174
free cpu=2 a419
free cpu=3 a86
free cpu=4 a370
free cpu=5 a160
free cpu=6 a105
free cpu=7 a393
free cpu=0 a295
free cpu=1 a114
free cpu=2 a223
free cpu=3 a301
free cpu=4 a323
free cpu=5 a236
free cpu=6 a424
free cpu=7 a245
free cpu=0 a228
free cpu=1 a329
free cpu=2 a417
free cpu=3 a8
free cpu=4 a237
free cpu=5 a402
free cpu=6 a109
free cpu=7 a270
free cpu=0 a20
free cpu=1 a192
free cpu=2 a115
free cpu=3 a117
free cpu=4 a364
free cpu=5 a188
free cpu=6 a394
free cpu=7 a253
free cpu=0 a16
free cpu=1 a122
free cpu=2 a336
free cpu=3 a337
free cpu=4 a426
free cpu=5 a38
free cpu=6 a199
free cpu=7 a318
free cpu=0 a416
free cpu=1 a110
free cpu=2 a218
free cpu=3 a283
free cpu=4 a294
free cpu=5 a289
free cpu=6 a213
free cpu=7 a312
free cpu=0 a247
free cpu=1 a304
free cpu=2 a191
free cpu=3 a365
free cpu=4 a352
free cpu=5 a350
free cpu=6 a187
free cpu=7 a82
free cpu=0 a166
free cpu=1 a266
free cpu=2 a296
free cpu=3 a314
free cpu=4 a349
free cpu=5 a212
free cpu=6 a324
free cpu=7 a376
free cpu=0 a24
free cpu=1 a68
free cpu=2 a50
free cpu=3 a6
free cpu=4 a371
free cpu=5 a389
free cpu=6 a226
free cpu=7 a385
free cpu=0 a261
free cpu=1 a431
free cpu=2 a362
free cpu=3 a229
free cpu=4 a286
free cpu=5 a335
free cpu=6 a96
free cpu=7 a423
free cpu=0 a172
free cpu=1 a285
free cpu=2 a390
free cpu=3 a339
free cpu=4 a211
free cpu=5 a412
free cpu=6 a144
free cpu=7 a252
free cpu=0 a94
free cpu=1 a420
free cpu=2 a274
free cpu=3 a129
free cpu=4 a153
free cpu=5 a263
free cpu=6 a171
free cpu=7 a151
free cpu=0 a157
free cpu=1 a76
free cpu=2 a292
free cpu=3 a186
free cpu=4 a383
free cpu=5 a360
free cpu=6 a30
free cpu=7 a375
free cpu=0 a404
free cpu=1 a407
free cpu=2 a219
free cpu=3 a220
free cpu=4 a112
free cpu=5 a275
free cpu=6 a249
free cpu=7 a70
free cpu=0 a406
free cpu=1 a358
free cpu=2 a429
free cpu=3 a116
free cpu=4 a154
free cpu=5 a111
free cpu=6 a52
free cpu=7 a158
free cpu=0 a235
free cpu=1 a190
free cpu=2 a208
free cpu=3 a363
free cpu=4 a204
free cpu=5 a101
free cpu=6 a128
free cpu=7 a145
free cpu=0 a395
free cpu=1 a300
free cpu=2 a206
free cpu=3 a227
free cpu=4 a198
free cpu=5 a140
free cpu=6 a126
free cpu=7 a398
free cpu=0 a368
free cpu=1 a143
free cpu=2 a421
free cpu=3 a189
free cpu=4 a221
free cpu=5 a259
free cpu=6 a244
free cpu=7 a327
free cpu=0 a210
free cpu=1 a42
free cpu=2 a374
free cpu=3 a123
free cpu=4 a373
free cpu=5 a353
free cpu=6 a182
free cpu=7 a290
free cpu=0 a183
free cpu=1 a326
free cpu=2 a400
free cpu=3 a215
free cpu=4 a260
free cpu=5 a351
free cpu=6 a177
free cpu=7 a361
free cpu=0 a240
free cpu=1 a184
free cpu=2 a264
free cpu=3 a293
free cpu=4 a216
free cpu=5 a12
free cpu=6 a205
free cpu=7 a378
free cpu=0 a4
free cpu=1 a357
free cpu=2 a250
free cpu=3 a58
free cpu=4 a163
free cpu=5 a26
free cpu=6 a99
free cpu=7 a347
free cpu=0 a269
free cpu=1 a432
free cpu=2 a141
free cpu=3 a149
free cpu=4 a193
free cpu=5 a399
free cpu=6 a232
free cpu=7 a48
free cpu=0 a234
free cpu=1 a180
free cpu=2 a340
free cpu=3 a414
free cpu=4 a379
free cpu=5 a280
free cpu=6 a164
free cpu=7 a305
free cpu=0 a268
free cpu=1 a56
free cpu=2 a64
free cpu=3 a146
free cpu=4 a80
free cpu=5 a331
free cpu=6 a170
free cpu=7 a256
free cpu=0 a278
free cpu=1 a106
free cpu=2 a408
free cpu=3 a100
free cpu=4 a44
free cpu=5 a287
free cpu=6 a162
free cpu=7 a159
free cpu=0 a135
free cpu=1 a427
free cpu=2 a391
free cpu=3 a197
free cpu=4 a316
free cpu=5 a386
free cpu=6 a322
free cpu=7 a271
free cpu=0 a18
free cpu=1 a355
free cpu=2 a273
free cpu=3 a418
free cpu=4 a102
free cpu=5 a176
free cpu=6 a384
free cpu=7 a214
free cpu=0 a2
free cpu=1 a142
free cpu=2 a132
free cpu=3 a332
free cpu=4 a354
free cpu=5 a239
free cpu=6 a62
free cpu=7 a369
free cpu=0 a217
free cpu=1 a411
free cpu=2 a320
free cpu=3 a311
free cpu=4 a372
free cpu=5 a10
free cpu=6 a309
free cpu=7 a34
free cpu=0 a203
free cpu=1 a78
free cpu=2 a230
free cpu=3 a344
free cpu=4 a178
free cpu=5 a288
free cpu=6 a410
free cpu=7 a127
free cpu=0 a233
free cpu=1 a103
free cpu=2 a425
free cpu=3 a338
free cpu=4 a97
free cpu=5 a196
free cpu=6 a72
free cpu=7 a84
free cpu=0 a333
free cpu=1 a403
free cpu=2 a277
free cpu=3 a258
free cpu=4 a120
free cpu=5 a167
free cpu=6 a272
free cpu=7 a136
free cpu=0 a341
free cpu=1 a401
free cpu=2 a343
free cpu=3 a330
free cpu=4 a202
free cpu=5 a131
free cpu=6 a152
free cpu=7 a28
free cpu=0 a134
free cpu=1 a108
free cpu=2 a251
free cpu=3 a138
free cpu=4 a262
free cpu=5 a201
free cpu=6 a430
free cpu=7 a179
free cpu=0 a265
free cpu=1 a36
free cpu=2 a405
free cpu=3 a382
free cpu=4 a224
free cpu=5 a200
free cpu=6 a14
free cpu=7 a173
free cpu=0 a225
free cpu=1 a161
free cpu=2 a328
free cpu=3 a422
free cpu=4 a74
free cpu=5 a310
free cpu=6 a194
free cpu=7 a319
free cpu=0 a380
free cpu=1 a125
free cpu=2 a207
free cpu=3 a150
free cpu=4 a306
free cpu=5 a413
free cpu=6 a367
free cpu=7 a209
free cpu=0 a321
free cpu=1 a397
free cpu=2 a356
free cpu=3 a130
free cpu=4 a118
free cpu=5 a267
free cpu=6 a231
free cpu=7 a334
free cpu=0 a195
free cpu=1 a276
free cpu=2 a348
free cpu=3 a282
free cpu=4 a345
free cpu=5 a124
free cpu=6 a148
free cpu=7 a299
free cpu=0 a40
free cpu=1 a325
free cpu=2 a396
free cpu=3 a359
free cpu=4 a121
free cpu=5 a346
free cpu=6 a155
free cpu=7 a313
free cpu=0 a381
free cpu=1 a303
free cpu=2 a90
free cpu=3 a169
free cpu=4 a222
free cpu=5 a60
free cpu=6 a387
free cpu=7 a104
free cpu=0 a242
free cpu=1 a366
free cpu=2 a246
free cpu=3 a66
free cpu=4 a98
free cpu=5 a181
free cpu=6 a388
free cpu=7 a107
free cpu=0 a243
free cpu=1 a291
free cpu=2 a257
free cpu=3 a315
free cpu=4 a185
free cpu=5 a22
free cpu=6 a168
free cpu=7 a297
free cpu=0 a92
free cpu=1 a255
free cpu=2 a428
free cpu=3 a342
free cpu=4 a302
free cpu=5 a248
free cpu=6 a281
free cpu=7 a298
free cpu=0 a284
free cpu=1 a32
free cpu=2 a377
free cpu=3 a254
free cpu=4 a156
free cpu=5 a308
free cpu=6 a175
free cpu=7 a119
free cpu=0 a88
free cpu=1 a46
free cpu=2 a409
free cpu=3 a147
free cpu=4 a113
free cpu=5 a241
free cpu=6 a238
free cpu=7 a165
tick cpu=0
tick cpu=1
tick cpu=2
tick cpu=3
tick cpu=4
tick cpu=5
tick cpu=6
tick cpu=7
drain-all by=3
