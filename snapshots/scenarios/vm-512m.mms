mms 1
# A virtual machine of 512 MB: the sizes, the hole and min_free_kbytes are those of a recorded
# Linux 6.12 machine; where its reserved frames lie is made up.
machine cpus=2
zone DMA 0x1..0x1000
zone DMA32 0x1000..0x1ffe0
hole 0x9f..0x100
reserved 0x1..0x9f
reserved 0x1000..0x3c00
reserved 0x1f000..0x1f243
rules linux_6_12
set min_free_kbytes=2728

# phase start: both CPUs fill their lists and free a part again
a1 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a2 = alloc cpu=0 order=1 gfp=GFP_KERNEL
a3 = alloc cpu=0 order=2 gfp=GFP_KERNEL
a4 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a5 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a6 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a7 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a8 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a9 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a10 = alloc cpu=0 order=1 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a11 = alloc cpu=0 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a12 = alloc cpu=0 order=3 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a13 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER
a14 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER
a15 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER
a16 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER
a17 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a18 = alloc cpu=1 order=1 gfp=GFP_KERNEL
a19 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a20 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a21 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a22 = alloc cpu=1 order=1 gfp=GFP_HIGHUSER_MOVABLE
a23 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a24 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a25 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a26 = alloc cpu=1 order=1 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a27 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a28 = alloc cpu=1 order=3 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a29 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER
a30 = alloc cpu=1 order=1 gfp=GFP_HIGHUSER
a31 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER
a32 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER
a33 a34 a35 a36 a37 a38 = bulk cpu=0 gfp=GFP_KERNEL
a39 a40 a41 a42 = bulk cpu=1 gfp=GFP_HIGHUSER
free cpu=1 a1
free cpu=0 a4
free cpu=1 a7
free cpu=0 a10
free cpu=1 a13
free cpu=0 a16
free cpu=1 a19
free cpu=0 a22
free cpu=1 a25
free cpu=0 a28
free cpu=1 a31

# phase large: huge pages and large blocks until the low mark stops them
a43 = alloc cpu=0 order=9 gfp=GFP_TRANSHUGE_LIGHT
a44 = alloc cpu=1 order=9 gfp=GFP_TRANSHUGE_LIGHT
a45 = alloc cpu=0 order=9 gfp=GFP_TRANSHUGE_LIGHT
a46 = alloc cpu=1 order=9 gfp=GFP_TRANSHUGE_LIGHT
a47 = alloc cpu=0 order=9 gfp=GFP_TRANSHUGE_LIGHT
a48 = alloc cpu=1 order=9 gfp=GFP_TRANSHUGE_LIGHT
a49 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a50 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a51 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a52 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a53 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a54 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a55 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a56 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a57 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a58 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a59 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a60 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a61 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a62 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a63 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a64 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a65 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a66 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a67 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a68 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a69 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a70 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a71 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a72 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a73 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a74 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a75 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a76 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a77 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a78 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a79 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a80 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a81 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a82 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a83 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a84 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a85 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a86 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a87 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a88 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a89 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a90 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a91 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a92 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a93 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a94 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a95 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a96 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a97 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a98 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a99 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a100 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a101 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a102 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a103 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a104 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a105 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a106 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a107 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a108 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a109 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a110 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a111 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a112 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a113 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a114 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a115 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a116 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a117 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a118 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a119 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a120 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a121 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a122 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a123 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a124 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a125 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a126 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a127 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a128 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a129 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a130 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a131 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a132 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a133 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a134 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a135 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a136 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a137 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a138 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a139 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a140 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a141 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a142 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a143 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a144 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a145 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a146 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a147 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a148 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a149 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a150 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a151 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a152 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a153 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a154 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a155 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a156 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a157 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a158 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a159 = alloc cpu=0 order=10 gfp=GFP_HIGHUSER_MOVABLE
a160 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE
a161 = alloc cpu=0 order=10 gfp=GFP_KERNEL
a162 = alloc cpu=1 order=10 gfp=GFP_HIGHUSER_MOVABLE

# phase mixed: what is left is asked for by other types, so that pageblocks change hands
a163 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a164 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a165 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a166 = alloc cpu=1 order=6 gfp=GFP_KERNEL
a167 = alloc cpu=0 order=3 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a168 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a169 = alloc cpu=0 order=4 gfp=GFP_KERNEL
a170 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a171 = alloc cpu=0 order=6 gfp=GFP_HIGHUSER_MOVABLE
a172 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a173 = alloc cpu=0 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a174 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a175 = alloc cpu=0 order=2 gfp=GFP_KERNEL
a176 = alloc cpu=1 order=6 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a177 = alloc cpu=0 order=3 gfp=GFP_HIGHUSER_MOVABLE
a178 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a179 = alloc cpu=0 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a180 = alloc cpu=1 order=2 gfp=GFP_HIGHUSER_MOVABLE
a181 = alloc cpu=0 order=6 gfp=GFP_KERNEL
a182 = alloc cpu=1 order=3 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a183 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a184 = alloc cpu=1 order=4 gfp=GFP_KERNEL
a185 = alloc cpu=0 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a186 = alloc cpu=1 order=6 gfp=GFP_HIGHUSER_MOVABLE
a187 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a188 = alloc cpu=1 order=0 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a189 = alloc cpu=0 order=4 gfp=GFP_HIGHUSER_MOVABLE
a190 = alloc cpu=1 order=2 gfp=GFP_KERNEL
a191 = alloc cpu=0 order=6 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a192 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a193 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a194 = alloc cpu=1 order=4 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a195 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a196 = alloc cpu=1 order=6 gfp=GFP_KERNEL
a197 = alloc cpu=0 order=3 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a198 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a199 = alloc cpu=0 order=4 gfp=GFP_KERNEL
a200 = alloc cpu=1 order=2 gfp=GFP_KERNEL|__GFP_RECLAIMABLE
a201 = alloc cpu=0 order=6 gfp=GFP_HIGHUSER_MOVABLE
a202 = alloc cpu=1 order=3 gfp=GFP_KERNEL
fail-trylock cpu=0 times=3
a203 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a204 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a205 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a206 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a207 = alloc cpu=1 order=1 gfp=GFP_ATOMIC at=min flags=min_reserve,non_block,highatomic
check zone=1 order=3 mark=low highest=Normal

# phase back: everything is freed in a scattered order, lists are drained and the workers run
free-batch cpu=0 a39 a149 a181 a119 a70 a86 a137
free-batch cpu=1 a131 a64 a166 a88 a176 a151 a156
free-batch cpu=0 a142 a148 a80 a20 a106 a110 a122
free-batch cpu=1 a89 a18 a2 a147 a160 a144 a143
free-batch cpu=0 a26 a94 a60 a15 a121 a82 a29
free-batch cpu=1 a33 a184 a92 a159 a140 a61 a158
free-batch cpu=0 a56 a186 a153 a200 a168 a50 a193
free-batch cpu=1 a67 a71 a105 a133 a128 a45 a135
free-batch cpu=0 a84 a177 a40 a32 a204 a199 a194
free-batch cpu=1 a100 a38 a172 a98 a196 a95 a97
free-batch cpu=0 a93 a164 a178 a109 a51 a78 a179
free-batch cpu=1 a116 a191 a66 a72 a114 a136 a11
free-batch cpu=0 a152 a44 a85 a24 a91 a6 a206
free-batch cpu=1 a188 a75 a130 a63 a157 a112 a134
free cpu=1 a87
free cpu=0 a46
free cpu=1 a169
free cpu=0 a14
free cpu=1 a21
free cpu=1 a77
free cpu=1 a173
free cpu=1 a113
free cpu=0 a58
free cpu=1 a41
free cpu=1 a187
free cpu=1 a111
free cpu=1 a99
free cpu=0 a76
free cpu=0 a174
free cpu=0 a42
free cpu=1 a167
free cpu=1 a125
free cpu=0 a146
free cpu=1 a123
free cpu=1 a83
free cpu=1 a129
free cpu=1 a53
free cpu=1 a49
free cpu=1 a141
free cpu=0 a118
free cpu=0 a162
free cpu=0 a34
free cpu=0 a102
free cpu=1 a107
free cpu=0 a170
free cpu=1 a17
free cpu=0 a12
free cpu=1 a195
free cpu=1 a23
free cpu=1 a185
free cpu=1 a69
free cpu=1 a35
free cpu=0 a190
free cpu=0 a108
free cpu=0 a52
free cpu=1 a101
free cpu=1 a59
free cpu=0 a192
free cpu=1 a161
free cpu=0 a30
free cpu=0 a132
free cpu=0 a54
free cpu=0 a198
free cpu=1 a47
free cpu=0 a120
free cpu=0 a154
free cpu=1 a189
free cpu=0 a62
free cpu=0 a90
free cpu=0 a126
free cpu=1 a163
free cpu=1 a205
free cpu=1 a5
free cpu=1 a175
free cpu=0 a180
free cpu=0 a150
free cpu=1 a183
free cpu=0 a138
free cpu=1 a127
free cpu=1 a57
free cpu=0 a202
free cpu=1 a65
free cpu=1 a27
free cpu=0 a74
free cpu=1 a9
free cpu=1 a81
free cpu=0 a182
free cpu=1 a165
free cpu=1 a201
free cpu=0 a36
free cpu=1 a79
free cpu=1 a207
free cpu=1 a103
free cpu=1 a145
free cpu=1 a43
free cpu=1 a203
free cpu=1 a155
free cpu=1 a139
free cpu=1 a37
free cpu=1 a3
free cpu=1 a197
free cpu=1 a73
free cpu=0 a68
free cpu=1 a55
free cpu=1 a115
free cpu=1 a171
free cpu=0 a104
free cpu=1 a117
free cpu=0 a96
free cpu=0 a48
free cpu=0 a124
free cpu=0 a8
tick cpu=0
tick cpu=1
drain-all by=0
tick cpu=0
tick cpu=1
