mms 1
# Four CPUs with pages on their lists, drained by one of them: by work items, or remotely (docs/drains.md).
machine cpus=4
zone Normal 0x0..0x8000
rules linux_6_1

# phase fill: every CPU has pages on its lists
a1 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a2 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a3 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a4 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a5 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a6 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a7 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a8 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a9 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a10 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a11 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a12 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a13 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a14 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a15 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a16 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a17 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a18 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a19 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a20 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a21 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a22 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a23 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a24 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a25 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a26 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a27 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a28 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a29 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a30 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a31 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a32 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a33 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a34 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a35 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a36 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a37 = alloc cpu=0 order=0 gfp=GFP_HIGHUSER_MOVABLE
a38 = alloc cpu=0 order=0 gfp=GFP_KERNEL
a39 = alloc cpu=0 order=1 gfp=GFP_HIGHUSER_MOVABLE
a40 = alloc cpu=0 order=3 gfp=GFP_KERNEL
a41 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a42 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a43 = alloc cpu=1 order=1 gfp=GFP_HIGHUSER_MOVABLE
a44 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a45 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a46 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a47 = alloc cpu=1 order=1 gfp=GFP_HIGHUSER_MOVABLE
a48 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a49 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a50 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a51 = alloc cpu=1 order=1 gfp=GFP_HIGHUSER_MOVABLE
a52 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a53 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a54 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a55 = alloc cpu=1 order=1 gfp=GFP_HIGHUSER_MOVABLE
a56 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a57 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a58 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a59 = alloc cpu=1 order=1 gfp=GFP_HIGHUSER_MOVABLE
a60 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a61 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a62 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a63 = alloc cpu=1 order=1 gfp=GFP_HIGHUSER_MOVABLE
a64 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a65 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a66 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a67 = alloc cpu=1 order=1 gfp=GFP_HIGHUSER_MOVABLE
a68 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a69 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a70 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a71 = alloc cpu=1 order=1 gfp=GFP_HIGHUSER_MOVABLE
a72 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a73 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a74 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a75 = alloc cpu=1 order=1 gfp=GFP_HIGHUSER_MOVABLE
a76 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a77 = alloc cpu=1 order=0 gfp=GFP_HIGHUSER_MOVABLE
a78 = alloc cpu=1 order=0 gfp=GFP_KERNEL
a79 = alloc cpu=1 order=1 gfp=GFP_HIGHUSER_MOVABLE
a80 = alloc cpu=1 order=3 gfp=GFP_KERNEL
a81 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a82 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a83 = alloc cpu=2 order=1 gfp=GFP_HIGHUSER_MOVABLE
a84 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a85 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a86 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a87 = alloc cpu=2 order=1 gfp=GFP_HIGHUSER_MOVABLE
a88 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a89 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a90 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a91 = alloc cpu=2 order=1 gfp=GFP_HIGHUSER_MOVABLE
a92 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a93 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a94 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a95 = alloc cpu=2 order=1 gfp=GFP_HIGHUSER_MOVABLE
a96 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a97 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a98 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a99 = alloc cpu=2 order=1 gfp=GFP_HIGHUSER_MOVABLE
a100 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a101 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a102 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a103 = alloc cpu=2 order=1 gfp=GFP_HIGHUSER_MOVABLE
a104 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a105 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a106 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a107 = alloc cpu=2 order=1 gfp=GFP_HIGHUSER_MOVABLE
a108 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a109 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a110 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a111 = alloc cpu=2 order=1 gfp=GFP_HIGHUSER_MOVABLE
a112 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a113 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a114 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a115 = alloc cpu=2 order=1 gfp=GFP_HIGHUSER_MOVABLE
a116 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a117 = alloc cpu=2 order=0 gfp=GFP_HIGHUSER_MOVABLE
a118 = alloc cpu=2 order=0 gfp=GFP_KERNEL
a119 = alloc cpu=2 order=1 gfp=GFP_HIGHUSER_MOVABLE
a120 = alloc cpu=2 order=3 gfp=GFP_KERNEL
a121 = alloc cpu=3 order=0 gfp=GFP_HIGHUSER_MOVABLE
a122 = alloc cpu=3 order=0 gfp=GFP_KERNEL
a123 = alloc cpu=3 order=1 gfp=GFP_HIGHUSER_MOVABLE
a124 = alloc cpu=3 order=3 gfp=GFP_KERNEL
a125 = alloc cpu=3 order=0 gfp=GFP_HIGHUSER_MOVABLE
a126 = alloc cpu=3 order=0 gfp=GFP_KERNEL
a127 = alloc cpu=3 order=1 gfp=GFP_HIGHUSER_MOVABLE
a128 = alloc cpu=3 order=3 gfp=GFP_KERNEL
a129 = alloc cpu=3 order=0 gfp=GFP_HIGHUSER_MOVABLE
a130 = alloc cpu=3 order=0 gfp=GFP_KERNEL
a131 = alloc cpu=3 order=1 gfp=GFP_HIGHUSER_MOVABLE
a132 = alloc cpu=3 order=3 gfp=GFP_KERNEL
a133 = alloc cpu=3 order=0 gfp=GFP_HIGHUSER_MOVABLE
a134 = alloc cpu=3 order=0 gfp=GFP_KERNEL
a135 = alloc cpu=3 order=1 gfp=GFP_HIGHUSER_MOVABLE
a136 = alloc cpu=3 order=3 gfp=GFP_KERNEL
a137 = alloc cpu=3 order=0 gfp=GFP_HIGHUSER_MOVABLE
a138 = alloc cpu=3 order=0 gfp=GFP_KERNEL
a139 = alloc cpu=3 order=1 gfp=GFP_HIGHUSER_MOVABLE
a140 = alloc cpu=3 order=3 gfp=GFP_KERNEL
a141 = alloc cpu=3 order=0 gfp=GFP_HIGHUSER_MOVABLE
a142 = alloc cpu=3 order=0 gfp=GFP_KERNEL
a143 = alloc cpu=3 order=1 gfp=GFP_HIGHUSER_MOVABLE
a144 = alloc cpu=3 order=3 gfp=GFP_KERNEL
a145 = alloc cpu=3 order=0 gfp=GFP_HIGHUSER_MOVABLE
a146 = alloc cpu=3 order=0 gfp=GFP_KERNEL
a147 = alloc cpu=3 order=1 gfp=GFP_HIGHUSER_MOVABLE
a148 = alloc cpu=3 order=3 gfp=GFP_KERNEL
a149 = alloc cpu=3 order=0 gfp=GFP_HIGHUSER_MOVABLE
a150 = alloc cpu=3 order=0 gfp=GFP_KERNEL
a151 = alloc cpu=3 order=1 gfp=GFP_HIGHUSER_MOVABLE
a152 = alloc cpu=3 order=3 gfp=GFP_KERNEL
a153 = alloc cpu=3 order=0 gfp=GFP_HIGHUSER_MOVABLE
a154 = alloc cpu=3 order=0 gfp=GFP_KERNEL
a155 = alloc cpu=3 order=1 gfp=GFP_HIGHUSER_MOVABLE
a156 = alloc cpu=3 order=3 gfp=GFP_KERNEL
a157 = alloc cpu=3 order=0 gfp=GFP_HIGHUSER_MOVABLE
a158 = alloc cpu=3 order=0 gfp=GFP_KERNEL
a159 = alloc cpu=3 order=1 gfp=GFP_HIGHUSER_MOVABLE
a160 = alloc cpu=3 order=3 gfp=GFP_KERNEL
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
free cpu=1 a41
free cpu=1 a43
free cpu=1 a45
free cpu=1 a47
free cpu=1 a49
free cpu=1 a51
free cpu=1 a53
free cpu=1 a55
free cpu=1 a57
free cpu=1 a59
free cpu=1 a61
free cpu=1 a63
free cpu=1 a65
free cpu=1 a67
free cpu=1 a69
free cpu=1 a71
free cpu=1 a73
free cpu=1 a75
free cpu=1 a77
free cpu=1 a79
free cpu=2 a81
free cpu=2 a83
free cpu=2 a85
free cpu=2 a87
free cpu=2 a89
free cpu=2 a91
free cpu=2 a93
free cpu=2 a95
free cpu=2 a97
free cpu=2 a99
free cpu=2 a101
free cpu=2 a103
free cpu=2 a105
free cpu=2 a107
free cpu=2 a109
free cpu=2 a111
free cpu=2 a113
free cpu=2 a115
free cpu=2 a117
free cpu=2 a119
free cpu=3 a121
free cpu=3 a123
free cpu=3 a125
free cpu=3 a127
free cpu=3 a129
free cpu=3 a131
free cpu=3 a133
free cpu=3 a135
free cpu=3 a137
free cpu=3 a139
free cpu=3 a141
free cpu=3 a143
free cpu=3 a145
free cpu=3 a147
free cpu=3 a149
free cpu=3 a151
free cpu=3 a153
free cpu=3 a155
free cpu=3 a157
free cpu=3 a159
# phase begin: a drain of all zones begins while the others are busy
drain-begin by=0
# phase busy: a CPU goes on before it comes to its worker; another drain finds this one underway
free cpu=1 a2
free cpu=1 a4
free cpu=1 a6
free cpu=1 a8
free cpu=1 a10
free cpu=1 a12
free cpu=1 a14
free cpu=1 a16
free cpu=1 a18
free cpu=1 a20
free cpu=1 a22
free cpu=1 a24
free cpu=1 a26
free cpu=1 a28
free cpu=1 a30
free cpu=1 a32
free cpu=1 a34
free cpu=1 a36
free cpu=1 a38
drain-begin by=2
# phase work: the others come to their workers, one of them dies first
work cpu=0
work cpu=1
cpu-dead by=1 cpu=3
work cpu=2
# phase after: a CPU is back, and a drain of one zone begins and ends
cpu-online cpu=3
drain-all by=0 zone=0
