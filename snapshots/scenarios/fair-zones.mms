mms 1
# Two nodes, low zones on the first: the fair policy spreads pages, then memory runs short and kswapds are woken.
# Run under the three kernels of R2 (docs/fair.md).
machine cpus=2 nodes=2 cpu_nodes=0,1 distances=10,21,21,10
zone DMA32 0x0..0x2000
zone Normal 0x2000..0x6000
zone Normal 0x6000..0xa000 node=1
rules linux_3_17

# phase turns: each CPU takes blocks; batches are used up and reset
a1 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a2 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a3 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a4 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a5 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a6 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a7 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a8 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a9 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a10 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a11 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a12 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a13 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a14 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a15 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a16 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a17 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a18 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a19 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a20 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a21 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a22 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a23 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a24 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a25 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a26 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a27 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a28 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a29 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a30 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a31 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a32 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a33 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a34 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a35 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a36 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a37 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a38 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a39 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a40 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a41 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a42 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a43 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a44 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a45 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a46 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a47 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a48 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a49 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a50 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a51 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a52 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a53 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a54 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a55 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a56 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a57 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a58 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a59 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a60 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a61 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a62 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a63 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a64 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a65 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a66 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a67 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a68 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a69 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a70 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a71 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a72 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a73 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a74 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a75 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a76 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a77 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a78 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a79 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a80 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a81 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a82 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a83 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a84 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a85 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a86 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a87 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a88 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a89 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a90 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a91 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a92 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a93 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a94 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a95 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a96 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a97 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a98 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a99 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a100 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a101 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a102 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a103 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a104 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a105 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a106 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a107 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a108 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a109 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a110 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a111 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a112 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a113 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a114 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a115 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a116 = alloc cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a117 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a118 = alloc cpu=1 order=4 gfp=GFP_HIGHUSER_MOVABLE
a119 = alloc cpu=0 order=2 gfp=GFP_HIGHUSER_MOVABLE
a120 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
tick cpu=0
tick cpu=1
# phase short: the first node is asked for more than it has above LOW
a121 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a122 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a123 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a124 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a125 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a126 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a127 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a128 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a129 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a130 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a131 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a132 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a133 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a134 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a135 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a136 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a137 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a138 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a139 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a140 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a141 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a142 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a143 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a144 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a145 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a146 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a147 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a148 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a149 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a150 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a151 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a152 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a153 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a154 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a155 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a156 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a157 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a158 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a159 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a160 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a161 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a162 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a163 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a164 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a165 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a166 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a167 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a168 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a169 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a170 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a171 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a172 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a173 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a174 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a175 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a176 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a177 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a178 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a179 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a180 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a181 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a182 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a183 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a184 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a185 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a186 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a187 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a188 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a189 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a190 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a191 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a192 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a193 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a194 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a195 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
a196 = alloc cpu=0 order=9 gfp=GFP_HIGHUSER_MOVABLE
# phase slow: walks wake kswapd, reclaim gives a little, then nothing
a197 = slow cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE reply=reclaimed:32
a198 = slow cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE reply=reclaimed:0,reclaimed:32
a199 = slow cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE reply=reclaimed:0,lock,no_victim
a200 = slow cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a201 = slow cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a202 = slow cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a203 = slow cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a204 = slow cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a205 = slow cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a206 = slow cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a207 = slow cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a208 = slow cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
a209 = slow cpu=1 order=3 gfp=GFP_HIGHUSER_MOVABLE
# phase kswapd: both nodes' daemons take steps
kswapd node=0
kswapd node=0 reply=shrunk:64/32
kswapd node=0 reply=shrunk:64/32
kswapd node=0 reply=shrunk:64/32
kswapd node=0 reply=shrunk:64/0
kswapd node=0 reply=shrunk:64/0
kswapd node=1
kswapd node=1 reply=shrunk:64/32
kswapd node=1 reply=shrunk:64/32
kswapd node=1 reply=shrunk:64/32
kswapd node=1 reply=shrunk:64/0
kswapd node=1 reply=shrunk:64/0
# phase free: half of the blocks come back, to the first CPU
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
free cpu=0 a61
free cpu=0 a63
free cpu=0 a65
free cpu=0 a67
free cpu=0 a69
free cpu=0 a71
free cpu=0 a73
free cpu=0 a75
free cpu=0 a77
free cpu=0 a79
free cpu=0 a81
free cpu=0 a83
free cpu=0 a85
free cpu=0 a87
free cpu=0 a89
free cpu=0 a91
free cpu=0 a93
free cpu=0 a95
free cpu=0 a97
free cpu=0 a99
free cpu=0 a101
free cpu=0 a103
free cpu=0 a105
free cpu=0 a107
free cpu=0 a109
free cpu=0 a111
free cpu=0 a113
free cpu=0 a115
free cpu=0 a117
free cpu=0 a119
free cpu=0 a121
free cpu=0 a123
free cpu=0 a125
free cpu=0 a127
free cpu=0 a129
free cpu=0 a131
free cpu=0 a133
free cpu=0 a135
free cpu=0 a137
free cpu=0 a139
free cpu=0 a141
free cpu=0 a143
free cpu=0 a145
free cpu=0 a147
free cpu=0 a149
free cpu=0 a151
free cpu=0 a153
free cpu=0 a155
free cpu=0 a157
free cpu=0 a159
free cpu=0 a161
free cpu=0 a163
free cpu=0 a165
free cpu=0 a167
free cpu=0 a169
free cpu=0 a171
free cpu=0 a173
free cpu=0 a175
free cpu=0 a177
free cpu=0 a179
free cpu=0 a181
free cpu=0 a183
free cpu=0 a185
free cpu=0 a187
free cpu=0 a189
free cpu=0 a191
free cpu=0 a193
free cpu=0 a195
free cpu=0 a197
free cpu=0 a199
free cpu=0 a201
free cpu=0 a203
free cpu=0 a205
free cpu=0 a207
free cpu=0 a209
tick cpu=0
tick cpu=1
kswapd node=0 reply=shrunk:64/64
kswapd node=1 reply=shrunk:64/64
kswapd node=0 reply=napped
kswapd node=1 reply=napped
